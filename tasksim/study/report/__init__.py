"""Reports on studies, with statistics of their tables and confidence intervals."""

from tasksim.base.extras import require

require("pandas", "a report of a study")
