"""The error of a kernel that fails."""

from __future__ import annotations

from tasksim.base.errors import TasksimError

__all__ = ["KernelError"]


class KernelError(TasksimError):
    """A failure of a kernel: a matrix that is not positive definite, a zero pivot, an exception.

    ``kernel`` is the name of the kernel. The caller that executes a task knows which task failed.
    """

    def __init__(self, kernel: str, message: str) -> None:
        super().__init__(kernel, message)
        self.kernel = kernel
        self.message = message

    def __str__(self) -> str:
        return f"kernel {self.kernel}: {self.message}"
