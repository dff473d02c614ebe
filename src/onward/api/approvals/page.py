"""The pages that an approver sees: plain HTML, without scripts or anything from elsewhere."""

from __future__ import annotations

from html import escape

from onward.api.http.problems import RequestRefusedError
from onward.api.runs.views import DecisionView
from onward.runtime.explain.signal_waits import Awaited
from onward.runtime.signals.signed_links import LinkGrant

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title></head>
<body><main>
<h1>{title}</h1>
{body}
</main></body>
</html>
"""
_FORM = """<p>{message}</p>
<p>You are asked as <strong>{person}</strong>. {count}</p>
<ul>{decided}</ul>
<form method="post">
<p><label>Comment<br>
<textarea name="comment" rows="4" cols="60" maxlength="2000"></textarea></label></p>
<p><button name="decision" value="approve">Approve</button>
<button name="decision" value="reject">Reject</button></p>
</form>
<p><small>Run {run}, node {node}</small></p>"""


def decision_page(invitation: LinkGrant, awaited: Awaited) -> str:
    """Return the page on which somebody decides."""
    decided = "".join(
        f"<li>{escape(str(one.get('by')))}: {escape(str(one.get('decision')))}"
        f" {escape(str(one.get('comment') or ''))}</li>"
        for one in awaited.decided
    )
    return _PAGE.format(
        title="Your decision is needed",
        body=_FORM.format(
            message=escape(awaited.message or f"Shall {awaited.name} be approved?"),
            person=escape(invitation.person),
            count=f"Approvals required: {awaited.required}." if awaited.required else "",
            decided=decided,
            run=escape(invitation.execution_id),
            node=escape(awaited.name),
        ),
    )


def decided_page(decision: DecisionView) -> str:
    """Return the page that says what was decided."""
    word = "approved" if decision.decision == "approve" else "rejected"
    body = f"<p>Noted at {escape(decision.at)}. This link is used up; you can close the page.</p>"
    return _PAGE.format(title=f"You have {word}", body=body)


_REFUSED = {
    "BAD_LINK": ("This link does not work", "Was all of it copied? Open it from the mail again."),
    "LINK_EXPIRED": ("This link has expired", "Ask whoever sent it for a new one."),
    "ALREADY_DECIDED": ("You have decided already", "Your decision stands; nothing was changed."),
    "NOTHING_TO_DECIDE": ("There is nothing to decide any more", "You can close the page."),
    "RUN_ENDED": ("There is nothing to decide any more", "You can close the page."),
    "TOO_MANY_REQUESTS": ("Too many requests", "Wait a little, and load the page again."),
}
_OTHERS = ("This did not work", "Load the page again; if that does not help, ask whoever sent it.")


def refused_page(refused: RequestRefusedError) -> str:
    """Return the page that says why a link does not do what it is for."""
    title, remedy = _REFUSED.get(refused.code, _OTHERS)
    code = f"<p><small>{escape(refused.code)}</small></p>"
    body = f"<p>{escape(refused.detail)}.</p><p>{remedy}</p>{code}"
    return _PAGE.format(title=title, body=body)
