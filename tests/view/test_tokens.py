"""Colours of pages and reports: readable in the light and in the dark, and from one place."""

import re

import pytest

from tasksim.view.page.document import source
from tasksim.view.pages import STYLE
from tasksim.view.tokens import CHART_COLOURS, COLOURS, token_sheet

GROUNDS = ("ground", "surface", "band", "control")
TEXT_COLOURS = ("text", "soft", "action", "good", "bad", "warning")


def contrast(one, other):
    """Return the contrast of two colours, as WCAG 2.1 defines it."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [(text, ground) for text in TEXT_COLOURS for ground in GROUNDS]
    + [("action", "chosen"), ("text", "warm"), ("text", "chosen")],
)
def test_texts_are_readable(text, ground, mode):
    assert contrast(COLOURS[text][mode], COLOURS[ground][mode]) >= 4.5


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_edges_of_controls_are_seen(mode):
    assert contrast(COLOURS["edge"][mode], COLOURS["control"][mode]) >= 3.0


def test_style_sheets_have_no_colours_of_their_own():
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b")
    assert not colour.findall(STYLE.replace(token_sheet(COLOURS), ""))
    assert not colour.findall(re.sub(r"#page\b", "", source("style.css")))


def test_style_sheets_use_only_tokens_that_there_are():
    sheet = token_sheet(COLOURS, CHART_COLOURS)
    known = set(re.findall(r"--([\w-]+):", sheet))
    for text in (STYLE, source("style.css")):
        own = set(re.findall(r"--([\w-]+):", text))
        assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= known | own


def test_paper_is_light_whatever_the_system_is():
    for sheet in (STYLE, token_sheet(COLOURS, CHART_COLOURS)):
        dark = re.findall(r"@media[^{]*prefers-color-scheme: dark[^{]*", sheet)
        assert dark
        assert all(rule.startswith("@media screen and ") for rule in dark)
