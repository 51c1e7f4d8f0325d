"""Program of the experiment: ``python -m experiments.tensor_completion``."""

from experiments.frame import command_of
from experiments.tensor_completion.experiment import EXPERIMENT

__all__ = ["main"]

main = command_of(EXPERIMENT)

if __name__ == "__main__":
    main()
