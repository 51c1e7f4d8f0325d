"""``python -m tasksim``."""

from __future__ import annotations

from tasksim.cli.main import main

if __name__ == "__main__":
    main()
