"""Pages: what is text stands to the left, what is a number to the right."""

from io import BytesIO

import pytest

from tasksim.view.pages import (
    DOTS_PER_INCH,
    Callout,
    Heading,
    Image,
    LinkLine,
    Listing,
    Table,
    Text,
    html_page,
    markdown_page,
    png,
)
from tasksim.view.style import new_figure


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


def test_code_in_both_languages():
    blocks = [Text("`a < *b` is a_b"), Table(["what", "how"], [["x", "`y | z`, one ` alone"]])]
    html = html_page("t", blocks)
    assert "<p><code>a &lt; *b</code> is a_b</p>" in html
    assert "<code>y | z</code>, one ` alone" in html
    markdown = markdown_page("t", blocks, {})
    assert "`a < *b` is a\\_b" in markdown
    assert "`y \\| z`, one \\` alone" in markdown


def test_tables_without_rows():
    assert Table(["a", "b"], []).texts() == [True, False]
    assert "<th>b</th>" in html_page("t", [Table(["a", "b"], [])])


def test_commands_and_links_in_both_languages():
    blocks = [
        Listing(["tasksim study show s 3f # a < b", "echo ```"]),
        LinkLine("Data: a_b", [("x & y", "data/x y.csv")]),
        Callout("warning", "few", "", ""),
    ]
    html = html_page("t", blocks)
    assert "tasksim study show s 3f # a &lt; b\necho ```</pre>" in html
    assert '<p>Data: a_b <a href="data/x%20y.csv">x &amp; y</a></p>' in html
    assert 'class="evidence"' not in html
    markdown = markdown_page("t", blocks, {})
    assert "````\ntasksim study show s 3f # a < b\necho ```\n````" in markdown
    assert "Data: a\\_b [x & y](data/x%20y.csv)" in markdown


def test_a_figure_may_be_drawn_already():
    figure = new_figure(1.0)
    drawn = png(figure)
    assert png(drawn) is drawn
    pages = [html_page("t", [Image("f", what, "alt")]) for what in (figure, drawn)]
    assert pages[0] == pages[1]


def test_headers_are_text_in_markdown():
    assert "| a\\|b | c\\_d |" in markdown_page("t", [Table(["a|b", "c_d"], [["1", "2"]])], {})


def test_a_page_is_one_main_part_for_screen_readers():
    page = html_page("Report", [Text("A text.")])
    assert page.count("<main>") == page.count("</main>") == 1
    assert page.index("<main>") < page.index("<h1>") < page.index("A text.") < page.index("</main>")


def test_a_figure_is_drawn_once_and_has_the_bytes_of_matplotlib(monkeypatch):
    def made():
        figure = new_figure(2.0)
        figure.add_subplot().plot([1, 2, 4], label="one")
        figure.axes[0].set_ylabel("a long label")
        return figure

    written = BytesIO()
    made().savefig(written, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    figure, drawings = made(), []
    draw = type(figure).draw
    monkeypatch.setattr(
        type(figure), "draw", lambda self, *given: (drawings.append(self), draw(self, *given))[1]
    )
    assert png(figure) == written.getvalue()
    assert drawings == [figure]
