from __future__ import annotations

import pytest
from growth import nearly_linear

from tasksim.base.errors import InputError
from tasksim.formats.starpu.bus import XmlLink, XmlRoute, read_platform_xml

PLATFORM_FILE = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid/simgrid.dtd">
<platform version="4">
 <config id="General"><prop id="network/crosstraffic" value="0"></prop></config>
 <AS id="AS0" routing="Full">
   <host id="MAIN" speed="1f"/>
   <host id="CPU0" speed="2000000000f"/>
   <host id="CPU1" speed="2000000000f"/>
   <host id="CUDA0" speed="2000000000f">
     <prop id="model" value="Tesla M2070"/>
     <prop id="memsize" value="5636554752"/>
   </host>
   <host id="RAM" speed="1f"/>
   <link id="Host" bandwidth="6517450307.894589Bps" latency="0.000000s"/>
   <link id="RAM-CUDA0" bandwidth="6.5GBps" latency="10us"/>
   <route src="RAM" dst="CUDA0" symmetrical="NO">
     <link_ctn id="RAM-CUDA0"/>
     <!-- switch -->
     <link_ctn id="Host"/>
     <link_ctn id="Host"/>
   </route>
 </AS>
</platform>
"""


@pytest.fixture
def read(tmp_path):
    def file(text):
        path = tmp_path / "laptop.platform.v4.xml"
        path.write_text(text)
        return read_platform_xml(path)

    return file


def error_of(read, text) -> str:
    with pytest.raises(InputError) as error:
        read(text)
    return str(error.value).partition("laptop.platform.v4.xml")[2]


def test_hosts_have_their_properties(read):
    found = read(PLATFORM_FILE)
    assert list(found.hosts) == ["MAIN", "CPU0", "CPU1", "CUDA0", "RAM"]
    assert found.count("CPU") == 2
    assert found.hosts["CUDA0"].properties == {"model": "Tesla M2070", "memsize": "5636554752"}


def test_links_are_in_bytes_and_seconds(read):
    assert list(read(PLATFORM_FILE).links.values()) == [
        XmlLink("Host", 6517450307.894589, 0.0),
        XmlLink("RAM-CUDA0", 6.5e9, 10e-6),
    ]


def test_a_route_crosses_its_links_in_order_and_some_twice(read):
    assert read(PLATFORM_FILE).routes == [XmlRoute("RAM", "CUDA0", ("RAM-CUDA0", "Host", "Host"))]


def test_routes_lead_both_ways_unless_the_file_says_otherwise(read):
    found = read(PLATFORM_FILE.replace(' symmetrical="NO"', ""))
    assert found.routes[1] == XmlRoute("CUDA0", "RAM", ("Host", "Host", "RAM-CUDA0"))


def test_links_that_no_route_crosses_may_be_without_bandwidth(read):
    idle = '<link id="NUMA0" bandwidth="0.000000Bps" latency="0.000000s"/>'
    found = read(PLATFORM_FILE.replace("   <route", f"   {idle}\n   <route", 1))
    assert found.links["NUMA0"] == XmlLink("NUMA0", 0.0, 0.0)
    used = found.routes[0].links
    assert "NUMA0" not in used


def test_version_3_has_numbers_without_units(read):
    old = PLATFORM_FILE.replace('version="4"', 'version="3"').replace("Bps", "").replace("0s", "0")
    old = old.replace("6.5G", "6500000000").replace("10us", "0.00001").replace("1f", "1")
    assert read(old) == read(PLATFORM_FILE)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("platform", "machine", ":3:1: expected <platform version='3'> or <platform version='4'>,"),
        ('"4"', '"5"', ":3:1: expected <platform version='3'> or <platform version='4'>, found"),
        ("</platform>", "", ":24:1: expected XML, found what is not: no element found"),
        ("</host>", "", ":22:4: expected XML, found what is not: mismatched tag"),
        ('id="RAM"', 'name="RAM"', ":13:4: expected <host id='...'>, found the attributes name"),
        ('"CPU1"', '"CPU0"', ":8:4: expected each host once, found 'CPU0' again"),
        ('id="RAM-CUDA0" b', 'id="Host" b', ":15:4: expected each link once, found 'Host' again"),
        ("6.5GBps", "6.5 furlongs", ":15:4: expected bandwidth: a number and one of Bps, kBps"),
        ("6.5GBps", "0Bps", ":15:4: expected bandwidth: a number above 0, found '0Bps'"),
        ("6.5GBps", "9e999Bps", ":15:4: expected bandwidth: a number and one of Bps, kBps, MBps"),
        ("10us", "soon", ":15:4: expected latency: a number and one of s, ms, us, ns, found"),
        ('dst="CUDA0"', 'dst="CUDA1"', ":16:4: expected a host of the file, found 'CUDA1', did"),
        ('ctn id="RAM-', 'ctn id="R-', ":17:6: expected a link of the file, found 'R-CUDA0', "),
        ("5636554752", "5 GiB", ":9:4: expected memsize: a number of bytes, found '5 GiB'"),
        ('latency="10us"', 'sharing_policy="FATPIPE"', ":15:4: expected sharing_policy: SHARED"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_column(read, old, new, what):
    assert error_of(read, PLATFORM_FILE.replace(old, new)).startswith(what)


def test_a_route_without_links_leads_nowhere(read):
    text = PLATFORM_FILE.replace('<link_ctn id="RAM-CUDA0"/>', "").replace(
        '<link_ctn id="Host"/>', ""
    )
    assert "expected a route of one link or more, found none from RAM" in error_of(read, text)


def test_two_routes_between_the_same_hosts_are_refused(read):
    both_ways = PLATFORM_FILE.replace(' symmetrical="NO"', "")
    back = '<route src="CUDA0" dst="RAM" symmetrical="NO"><link_ctn id="Host"/></route></AS>'
    text = both_ways.replace("</AS>", back)
    what = ":22:2: expected one route from a host to another, found another from CUDA0 to RAM"
    assert error_of(read, text) == what


@pytest.mark.slow
def test_routes_take_a_time_in_proportion(read):
    def routes(count):
        hosts = "".join(f'<host id="H{i}" speed="1f"/>' for i in range(count))
        ways = "".join(
            f'<route src="RAM" dst="H{i}"><link_ctn id="Host"/></route>' for i in range(count)
        )
        assert (
            len(read(PLATFORM_FILE.replace("</AS>", f"{hosts}{ways}</AS>")).routes) == 2 * count + 1
        )

    assert nearly_linear(routes, 500, 4_000)


def test_all_that_is_wrong_is_told_at_once(read):
    text = (
        PLATFORM_FILE.replace("6.5GBps", "fast").replace('"CPU1"', '"CPU0"').replace("10us", "soon")
    )
    assert len(error_of(read, text).splitlines()) == 3


def test_entities_are_refused(read):
    bomb = '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><p version="4">&b;</p>'
    assert "expected no entities, found the entity 'a'" in error_of(read, bomb)


def test_files_outside_are_not_read(read, tmp_path):
    (tmp_path / "secret").write_text("CPU0")
    text = f'<!DOCTYPE p [<!ENTITY x SYSTEM "{tmp_path}/secret">]><p version="4">&x;</p>'
    assert "expected no entities" in error_of(read, text)


def test_elements_inside_each_other_without_end_are_refused(read):
    text = '<platform version="4">' + "<AS>" * 2000 + "</AS>" * 2000 + "</platform>"
    assert "expected at most 100 elements inside each other" in error_of(read, text)
