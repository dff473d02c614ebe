"""Digest authentication, on the example of RFC 7616 and on challenges that servers really send."""

import pytest

from onward.nodes.auth.digest import answer_challenge
from onward.nodes.failures import RefusedError

CHALLENGE = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", '
    'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
ASKED = {
    "method": "GET",
    "uri": "/dir/index.html",
    "username": "Mufasa",
    "password": "Circle of Life",
    "cnonce": "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
}


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_the_example_of_the_rfc(algorithm, response):
    header = answer_challenge(CHALLENGE.format(algorithm), **ASKED)

    assert f'response="{response}"' in header
    assert 'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"' in header
    assert "qop=auth, nc=00000001" in header


def test_an_old_challenge_without_quality_gets_an_old_answer():
    header = answer_challenge('Digest realm="r", nonce="n"', **ASKED)

    assert "qop" not in header
    assert "cnonce" not in header


def test_a_digest_for_many_requests_differs_from_a_plain_one():
    plain, lasting = (answer_challenge(CHALLENGE.format(a), **ASKED) for a in ("MD5", "MD5-sess"))

    assert "algorithm=MD5-sess" in lasting
    assert plain != lasting


def test_a_challenge_of_another_kind_is_left_alone():
    assert answer_challenge('Basic realm="r"', **ASKED) is None
    assert answer_challenge("", **ASKED) is None


@pytest.mark.parametrize("said", ["algorithm=CRC", 'qop="auth-int"'])
def test_what_is_not_known_is_refused_by_name(said):
    with pytest.raises(RefusedError, match="the server asks for the digest"):
        answer_challenge(f'Digest realm="r", nonce="n", {said}', **ASKED)


def test_quotes_in_a_name_stay_inside_the_header():
    header = answer_challenge('Digest realm="r", nonce="n"', **{**ASKED, "username": 'a"b'})

    assert r'username="a\"b"' in header
