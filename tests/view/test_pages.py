"""Pages: what is text stands to the left, what is a number to the right."""

import pytest

from tasksim.view.pages import Heading, Table, Text, html_page, markdown_page


@pytest.mark.parametrize(
    "cell",
    [
        "1",
        "-1.5 %",
        "+3e-05",
        "<1e-16",
        "1,234",
        "12.5 GB/s",
        "0.1 to 0.3",
        "3.2 ± 0.1 ms",
        "**",
        "–",
    ],
)
def test_numbers(cell):
    assert Table(["a", "b"], [["x", cell], ["y", "2"]]).texts() == [True, False]


@pytest.mark.parametrize("cell", ["gemm", "m=128, k=64", "far too short", "cpu0", "M2L_in on cpu"])
def test_texts(cell):
    assert Table(["a", "b"], [["x", cell], ["y", "2"]]).texts() == [True, True]


def test_tables_in_both_languages():
    blocks = [Heading("H"), Text("T"), Table(["kernel", "s", "why"], [["gemm", "1.5", "it < is"]])]
    html = html_page("Model of gemm", blocks)
    assert "<title>Model of gemm</title>" in html
    assert '<tr><td class="text">gemm</td><td>1.5</td><td class="text">it &lt; is</td></tr>' in html
    markdown = markdown_page("Model of gemm", blocks, {})
    assert "| --- | ---: | --- |" in markdown


def test_tables_without_rows():
    assert Table(["a", "b"], []).texts() == [True, False]
    assert "<th>b</th>" in html_page("t", [Table(["a", "b"], [])])
