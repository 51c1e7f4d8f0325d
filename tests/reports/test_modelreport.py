import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tasksim.base.errors import InputError
from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples
from tasksim.reports.modelreport import write_report
from tasksim.view.modelplots import (
    decimated,
    panel_domain,
    panel_influence,
    panel_parameter,
    panel_qq,
    panel_residuals,
)
from tasksim.view.style import new_figure

SIZES = (64, 128, 192, 256)
PNG = b"\x89PNG\r\n\x1a\n"


def gemm(repetitions=4, seed=0, noise=0.03, extra=0.0):
    rng = np.random.default_rng(seed)
    grid = np.array([(m, n, k) for m in SIZES for n in SIZES for k in SIZES], float)
    table = np.repeat(grid, repetitions, axis=0)
    true = 2e-6 + 6e-11 * table.prod(axis=1) + extra * table[:, 0] * table[:, 1]
    runs = np.arange(len(table)) % repetitions
    return Samples(("m", "n", "k"), table, true * rng.lognormal(0, noise, len(table)), runs)


@pytest.fixture(scope="module")
def samples():
    return gemm()


@pytest.fixture(scope="module")
def model(samples):
    return LinearModel("m*n*k").fit(samples)


class Page(HTMLParser):
    """The texts, images and references of a page; it complains of tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.images, self.outside = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "img":
            self.images.append(given)
        if tag in ("script", "link", "iframe"):
            self.outside.append(tag)
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page(path):
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_html_page_needs_nothing_else(tmp_path, samples, model):
    path = tmp_path / "gemm.html"
    write_report(model, samples, None, path)
    found = page(path)
    assert found.outside == []
    assert "http" not in path.read_text(encoding="utf-8")
    assert len(found.images) == 4
    for image in found.images:
        kind, _, data = image["src"].partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(PNG)
        assert image["alt"]


def test_the_page_has_coefficients_errors_and_findings(tmp_path):
    samples = gemm(extra=5e-9)
    model = LinearModel("m*n*k").fit(samples)
    model.label = "gemm on <cpu>"
    diagnosis = write_report(model, samples, gemm(seed=1, extra=5e-9), tmp_path / "a.html")
    text = " ".join(page(tmp_path / "a.html").text)
    assert "Kernel model of gemm on <cpu>: mlr" in text
    for part in ("constant", "m*n*k", "95 % interval", "***", "VIF", "R²", "adjusted R²"):
        assert part in text
    for part in ("cross-validated (5 folds)", "test samples", "Cook's distance", "Fitted: m 64"):
        assert part in text
    assert diagnosis.has("missing-term")
    for finding in diagnosis.findings:
        assert finding.message in text
        assert finding.advice in text
    written = (tmp_path / "a.html").read_text()
    assert "<th></th>" not in written
    assert re.search(r">[+-]?[\d.]+ %<", written)
    assert not re.search(r">[^<>]*\d%[^<>]*</t", written)


@pytest.mark.slow
def test_markdown_has_its_images_beside_it(tmp_path, samples, model):
    path = tmp_path / "my gemm.md"
    write_report(model, samples, None, path)
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert links == [
        f"my%20gemm-{name}.png" for name in ("residuals", "influence", "parameters", "domain")
    ]
    for link in links:
        assert (tmp_path / link.replace("%20", " ")).read_bytes().startswith(PNG)
    rows = [line for line in text.splitlines() if line.startswith("| m\\*n\\*k |")]
    assert len(rows) == 1
    assert rows[0].count("|") == 7
    assert "- **Note:** m has only 4 values" in text
    assert "No warnings." in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["history", "power", "constant", "no parameters", "one row"])
def test_models_of_every_kind_have_a_report(tmp_path, kind):
    rng = np.random.default_rng(0)
    size = np.repeat(np.geomspace(1e4, 1e6, 9), 6)
    one = Samples(("n",), size[:, None], 1e-9 * size * rng.lognormal(0, 0.05, 54))
    empty = Samples((), np.empty((20, 0)), rng.lognormal(-7, 0.1, 20))
    model, samples = {
        "history": lambda: (HistoryModel().fit(one), one),
        "power": lambda: (PowerLaw().fit(one), one),
        "constant": lambda: (ConstantModel(1e-4), one),
        "no parameters": lambda: (HistoryModel().fit(empty), empty),
        "one row": lambda: (HistoryModel().fit(one.select([0])), one.select([0])),
    }[kind]()
    write_report(model, samples, None, tmp_path / "a.html")
    text = " ".join(page(tmp_path / "a.html").text)
    assert "Residuals" in text
    assert "Coefficients" not in text


@pytest.mark.slow
def test_the_same_report_has_the_same_bytes(tmp_path, samples, model):
    for name in ("a.html", "b.html"):
        write_report(model, samples, None, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.slow
def test_reports_replace_nothing_unless_forced(tmp_path, samples, model):
    (tmp_path / "a-domain.png").write_text("mine")
    with pytest.raises(InputError, match=r"a-domain\.png exists; give force=True"):
        write_report(model, samples, None, tmp_path / "a.md")
    assert [path.name for path in tmp_path.iterdir()] == ["a-domain.png"]
    write_report(model, samples, None, tmp_path / "a.md", force=True)
    assert (tmp_path / "a-domain.png").read_bytes().startswith(PNG)
    with pytest.raises(InputError, match="exists"):
        write_report(model, samples, None, tmp_path / "a.md")


def test_other_suffixes_are_refused(tmp_path, samples, model):
    with pytest.raises(InputError, match=r"'\.pdf' \(legal: \.html, \.htm, \.md\)"):
        write_report(model, samples, None, tmp_path / "a.pdf")


def test_findings_for_a_terminal(samples, model):
    first = diagnose(model, samples).findings[0]
    assert first.text().startswith("note: m has only 4 values")
    history = HistoryModel().fit(gemm(6))
    assert diagnose(history, gemm(6)).findings == ()


@pytest.mark.slow
def test_a_hundred_thousand_samples_are_decimated_and_that_is_said(tmp_path):
    samples = gemm(1600)
    diagnosis = diagnose(LinearModel("m*n*k").fit(samples), samples)
    axes = panel_residuals(diagnosis.residuals)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    count = len(diagnosis.residuals.samples)
    assert f"4,000 of {count:,} samples" in labels
    drawn = axes.lines[0].get_ydata()
    assert len(drawn) == 4000
    error = 100 * diagnosis.residuals.relative
    assert (drawn.min(), drawn.max()) == (error.min(), error.max())


def test_decimation_keeps_all_of_few_and_the_extremes_of_many():
    assert decimated(np.arange(10.0)).tolist() == list(range(10))
    values = np.random.default_rng(0).normal(size=50_000)
    chosen = decimated(values)
    assert len(chosen) == len(np.unique(chosen)) == 4000
    assert set(np.argsort(values)[[0, 50, 99, -100, -1]]) <= set(chosen)
    assert abs(np.median(values[chosen])) < 0.05


def test_the_curve_is_what_the_model_predicts(samples, model):
    axes = panel_parameter(diagnose(model, samples), "n")
    curve = next(line for line in axes.lines if line.get_label() == "model")
    x, y = curve.get_data()
    middle = model.predict(np.column_stack((np.full(len(x), 128.0), x, np.full(len(x), 128.0))))
    assert y == pytest.approx(middle)
    assert (x[0], x[-1]) == pytest.approx((64, 256))
    assert "m=128, k=128" in axes.get_title(loc="left")


def test_a_history_is_a_point_per_configuration(samples):
    axes = panel_parameter(diagnose(HistoryModel().fit(samples), samples), "n")
    assert [c.lines[0].get_xdata().tolist() for c in axes.containers] == [[64, 128, 192, 256]]


def test_axes_have_units(samples, model):
    diagnosis = diagnose(model, samples)
    assert panel_parameter(diagnosis, "m").get_ylabel() == "duration (us)"
    axes = panel_residuals(diagnosis.residuals)
    assert axes.get_xlabel() == "predicted duration (us)"
    assert axes.get_ylabel() == "measured − predicted (% of predicted)"
    size = Samples(("size_bytes",), samples.parameters[:, :1] ** 2, samples.durations_s)
    power = diagnose(PowerLaw().fit(size), size)
    assert panel_parameter(power, "size_bytes").get_xlabel() == "size_bytes (bytes)"


def test_what_is_asked_for_outside_is_marked(samples, model):
    diagnosis = diagnose(model, samples)
    inside = panel_domain(diagnosis, asked=np.array([[64.0, 64, 64]]))
    outside = panel_domain(diagnosis, asked=np.array([[64.0, 1024, 64]]))
    assert count_marks(outside) == count_marks(inside) + 1


def count_marks(axes):
    return sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "|")


@pytest.mark.parametrize("panel", [panel_influence, panel_domain])
def test_labels_do_not_overlap(samples, model, panel):
    axes = panel(diagnose(model, samples))
    FigureCanvasAgg(axes.figure).draw()
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels(), *axes.texts]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_panels_draw_on_given_axes(samples, model):
    diagnosis = diagnose(model, samples)
    made = new_figure(3.0)
    left, right = made.subplots(1, 2)
    assert panel_residuals(diagnosis.residuals, left) is left
    assert panel_qq(diagnosis.residuals, right) is right
