"""``tasksim import network``: what is written and printed, what is refused."""

from __future__ import annotations

XML = """<?xml version='1.0'?>
<platform version="4">
<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1f" bw="4GBps" lat="1us"/>
</platform>
"""


def test_a_network_is_written_to_the_library(tasksim, tmp_path):
    (tmp_path / "net.xml").write_text(XML)
    result = tasksim("import network net.xml -o lib")
    assert (result.code, result.err) == (0, "Wrote lib/networks/net.yaml\n")
    assert result.out == "network   net: switch\nhosts     4\nlinks     8\nmodel     smpi\n"
    assert tasksim("import network net.xml -o lib").code == 2
    assert tasksim("import network net.xml -o lib --force --json").json["hosts"] == 4


def test_a_bad_file_is_refused_in_one_line(tasksim, tmp_path):
    (tmp_path / "net.xml").write_text(XML.replace("4GBps", "4Gps"))
    result = tasksim("import network net.xml -o lib")
    assert (result.code, len(result.errors)) == (2, 1)
    assert "net.xml:3:1: expected bw: a number and one of" in result.err
    assert not (tmp_path / "lib" / "networks").exists()
