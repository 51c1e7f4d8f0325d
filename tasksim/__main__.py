"""Entry point of the command line, ``tasksim`` and ``python -m tasksim``.

Nothing is imported before Ctrl-C would end it with one line, as it ends everything that follows.
What is imported here, Python has built in or needs itself to start.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` takes milliseconds to wrap
import gc
import os
import sys

BETWEEN_COLLECTIONS = 100_000
"""Objects made before the collector looks for rings among them. Python's 700 are passed a hundred
times while modules are imported, which are not garbage: that takes 4 to 13 % of a short command."""

BLAS_WAITS = "4"
"""For how many cycles, as a power of two, idle threads of NumPy's OpenBLAS spin before they sleep.
With its own 26 each of them takes 20 ms of a core when NumPy is imported, from whoever needs it."""


def main() -> None:
    """Run the command line and exit with its code."""
    # Ctrl-C waits until there is who handles it.
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT, _signal.SIGTERM))
    gc.set_threshold(BETWEEN_COLLECTIONS)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_WAITS)
    from tasksim.base.interruption import INTERRUPTED_EXIT_CODE, REPEATED_SIGNAL_S, Interrupts

    with Interrupts(REPEATED_SIGNAL_S, terminate=True) as interrupts:
        try:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
            code = _run()
            interrupts.hold()
        except KeyboardInterrupt:  # while the commands were imported
            interrupts.hold()
            code = INTERRUPTED_EXIT_CODE
            sys.stderr.write("Interrupted.\n")
        # Everything is printed and written. Only Python's own end is left to interrupt, which
        # waits for threads, except after an interruption.
        ending = _signal.SIG_IGN if code == INTERRUPTED_EXIT_CODE else _signal.SIG_DFL
        _signal.signal(_signal.SIGINT, ending)
    gc.freeze()  # nothing that is left is garbage: to look for it takes longer than to free it
    if code == INTERRUPTED_EXIT_CODE:
        _end_interrupted(code)
    sys.exit(code)


def _run() -> int:
    from tasksim.cli.main import main as run_commands

    try:
        run_commands()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _end_interrupted(code: int) -> None:
    """Leave at once if kernels are still running, which would outlive what they work on."""
    import threading
    from contextlib import suppress

    if threading.active_count() > 1:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    # Python ends itself by the signal, whatever the exit code, if the last text that was run by
    # exec (as dataclasses do while they are imported) was interrupted. Now it is not the last.
    exec("")


if __name__ == "__main__":
    main()
