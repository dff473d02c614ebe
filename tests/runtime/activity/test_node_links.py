"""Links in the parameters of a node: put where their marks are, and never written down."""

import msgspec
import pytest

from kernel.builders import token
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.signer import HostSigner
from onward.errors import CredentialError
from onward.kernel.program import Activity, LinkRequest
from onward.kernel.redaction import Redactor
from onward.nodes.graph.http import HttpNode
from onward.runtime.activity.node_links import NodeLinks, fill_links, secrets_of
from onward.runtime.signals.signed_links import read_link

NOW_MS = 1_000
ASKED = LinkRequest(
    mark="onward-link-1", purpose="approval", address="approval:ask", person="ada", lasts_ms=500
)


class Noon:
    def now_ms(self):
        return NOW_MS


@pytest.fixture
def signer(tmp_path):
    return HostSigner(KeyRing({}, tmp_path / "key"), makes_key=True)


def test_a_link_stands_where_its_mark_was_and_allows_what_was_asked(signer):
    node = msgspec.convert(
        {
            "url": "http://localhost/?to=onward-link-1",
            "method": "POST",
            "headers": {"x-link": "<onward-link-1>"},
            "body": {"all": ["onward-link-1", 1, None]},
        },
        HttpNode,
    )
    activity = Activity(node, None, None, links=(ASKED,))

    links = NodeLinks(signer, Noon(), "https://onward.example/").links(token(), activity.links)
    done = fill_links(activity, links)

    (link,) = links.values()
    base, _, end = link.rpartition("/")
    read = read_link(signer, end, "approval", NOW_MS)
    assert "https://onward.example/api/v1/approvals" == base
    assert ("approval:ask", "ada", 1_500) == (read.address, read.person, read.expires_ms)
    assert f"http://localhost/?to={link}" == done.node.url
    assert [link, 1, None] == done.node.body["all"]
    assert "onward-link-1" in node.url


def test_a_link_that_comes_back_is_redacted_whole_and_in_part(signer):
    links = NodeLinks(signer, Noon(), "https://onward.example").links(token(), [ASKED])
    (link,) = links.values()

    kept = str(Redactor([secrets_of(links)]).redact({"echo": f"see {link}", "x": link[30:]}))

    assert link.rpartition("/")[2] not in kept


def test_without_an_address_there_are_no_links_and_the_remedy_is_named(signer):
    with pytest.raises(CredentialError, match="--public-url"):
        NodeLinks(signer, Noon(), "").links(token(), [ASKED])
