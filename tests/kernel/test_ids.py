"""Names follow from what they name."""

from hypothesis import given
from hypothesis import strategies as st

from onward.kernel.ids import derive, fingerprint

PARTS = st.lists(st.text(st.characters(exclude_characters="\x1f")), min_size=1, max_size=4)


def test_the_same_path_has_the_same_name_in_every_process_and_release():
    """
    Names are stored and sent: a change here strands every run that is under way.
    """
    assert "a70e2d3c7539b1d0859a807d03231d37" == derive("x1", "fetch", 3)


@given(PARTS, PARTS)
def test_different_paths_have_different_names(one, other):
    assert (one == other) == (derive(*one) == derive(*other))


def test_parts_do_not_run_into_each_other():
    assert derive("ab", "c") != derive("a", "bc")


def test_a_number_names_what_its_digits_name():
    assert derive("s", 7) == derive("s", "7")


def test_a_lone_surrogate_in_a_part_is_no_reason_to_fail():
    assert 32 == len(derive("\ud800"))


def test_a_content_address_depends_on_every_byte():
    assert 64 == len(fingerprint(b""))
    assert fingerprint(b"a") == fingerprint(b"a")
    assert fingerprint(b"a") != fingerprint(b"a ")
