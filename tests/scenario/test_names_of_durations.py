"""Names in --durations: kernels as compilers and workflow managers call them, and all others."""

import pytest

from tasksim import GraphBuilder, InputError, simulate

KERNELS = ("ns::f(int, float)", "alpha=1", "NFCORE:ALIGN:BWA", "plain")


def graph_of(*kernels):
    """Return one task after the other, each of its own kernel."""
    g = GraphBuilder("names")
    last = []
    for kernel in kernels:
        last = [g.insert(kernel, after=last)]
    return g.build()


def test_names_may_have_colons_commas_and_equals_signs():
    text = "ns::f(int, float)=1,alpha=1=2,NFCORE:ALIGN:BWA=4 s,cpu:plain=8"
    assert simulate(graph_of(*KERNELS), workers=2, durations=text).makespan_s == 15


def test_an_architecture_stands_before_a_name_with_colons():
    text = "cpu:ns::f(int, float)=1,cpu:NFCORE:ALIGN:BWA=4,*=0"
    assert simulate(graph_of(*KERNELS), workers=2, durations=text).makespan_s == 5


@pytest.mark.parametrize("others", ["*=3", "cpu:*=3", "cpu:*=3,*=9"])
def test_a_star_is_each_kernel_that_is_not_named(others):
    found = simulate(graph_of("a", "b", "c"), workers=1, durations=f"b=10,{others}")
    assert found.makespan_s == 16


def test_an_unknown_kernel_is_refused_with_a_star_too():
    with pytest.raises(InputError, match="unknown kernel 'bb', did you mean 'b'"):
        simulate(graph_of("a", "b"), workers=1, durations={"bb": 1, "*": 2})


def test_a_message_names_few_kernels():
    names = [f"k{number}" for number in range(40)]
    with pytest.raises(InputError, match=r"durations='k0=SECONDS,\*=SECONDS'$"):
        simulate(graph_of(*names), workers=1)
