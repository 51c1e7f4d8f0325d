"""Program of the experiment: ``python -m experiments.tensor_completion``."""

from experiments.frame import command_of
from experiments.tensor_completion.experiment import TENSOR_COMPLETION

__all__ = ["main"]

main = command_of(TENSOR_COMPLETION)

if __name__ == "__main__":
    main()
