"""Frame of the experiments that redo a paper: settings, steps that resume, exhibits, a report.

::

    EXPERIMENT = Experiment(
        "tensor_completion", title, paper, question,
        settings=[Setting("samples", "Samples per kernel.", quick=512, full=4096)],
        steps=[Step("gemm", "matrix products measured", measure_gemm, minutes=(2, 20))],
        exhibits=[Exhibit("figure-3", "Error over cells", reported, show_cells)],
    )
    main = command_of(EXPERIMENT)

An experiment asks tasksim by its public API and its command line, as everybody does; this package
alone knows more of it: how it writes files, reports errors and makes pages.
"""

from experiments.frame.command import command_of
from experiments.frame.experiment import Exhibit, Experiment, Headline, Setting, Shown, Step
from experiments.frame.work import Work

__all__ = [
    "Exhibit",
    "Experiment",
    "Headline",
    "Setting",
    "Shown",
    "Step",
    "Work",
    "command_of",
]
