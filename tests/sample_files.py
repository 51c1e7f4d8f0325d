"""Files of samples in tests: what was read, what was said, which format it is."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.registry import FORMATS, format_of
from tasksim.formats.samples import read_samples


def plain(samples):
    return samples.names, samples.parameters.tolist(), samples.durations_s.tolist()


def problem(path, **options):
    with pytest.raises(InputError) as error:
        read_samples(path, **options)
    return str(error.value).replace(f"{path}", "FILE")


def detect_format(path):
    found = format_of(path, "reads_samples")
    return next((name for name in FORMATS if FORMATS.find(name) is found), None)
