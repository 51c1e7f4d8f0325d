"""Log of what tasksim reads, decides and writes, with a logger of Python's ``logging`` per room.

Lines go to the loggers ``tasksim.ROOM``, below ``tasksim``. A program that listens has imported
``logging``; until then a line costs a look into ``sys.modules``, and no command imports
``logging``.
"""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["DEBUG", "INFO", "WARNING", "Log"]

DEBUG: Final = 10
"""Level of details, such as each file that is read; as in ``logging``."""
INFO: Final = 20
"""Level of decisions and results."""
WARNING: Final = 30
"""Level of warnings, which the user gets, too."""
_CALLER_FRAMES: Final = 3
"""Number of frames from ``logging`` up to the caller of a method of the log."""


class Log:
    """Log of one *room*, a package of tasksim.

    Examples
    --------
    >>> import logging, sys
    >>> listener = logging.StreamHandler(sys.stdout)
    >>> logging.getLogger("tasksim").addHandler(listener)
    >>> logging.getLogger("tasksim").setLevel(logging.INFO)
    >>> Log("study").info("%d cells, %d of them done before", 20, 5)
    20 cells, 5 of them done before
    >>> logging.getLogger("tasksim").setLevel(logging.NOTSET)
    >>> logging.getLogger("tasksim").removeHandler(listener)
    """

    def __init__(self, room: str) -> None:
        self._name = f"tasksim.{room}"

    def debug(self, text: str, *values: object) -> None:
        """Log a detail; *values* are put into *text* by ``%`` if somebody listens."""
        self._say(DEBUG, text, values)

    def info(self, text: str, *values: object) -> None:
        """Log a decision or a result."""
        self._say(INFO, text, values)

    def warning(self, text: str, *values: object) -> None:
        """Log a warning that the user gets in another way."""
        self._say(WARNING, text, values)

    def _say(self, level: int, text: str, values: tuple[object, ...]) -> None:
        logging = sys.modules.get("logging")
        if logging is None:
            return
        logger = logging.getLogger(self._name)
        # Without handlers, logging itself would print warnings, which are printed already.
        if logger.isEnabledFor(level) and logger.hasHandlers():
            logger.log(level, text, *values, stacklevel=_CALLER_FRAMES)
