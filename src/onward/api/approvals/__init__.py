"""Approvals: what the holder of a signed link may do.

    routes        show what is to be decided, decide it once, resume a wait
    page          the pages that an approver sees

Links are written and read by `onward.runtime.signals.signed_links`. Browsers are refused in HTML
(`Routes.refuses_in_html`), programs as everywhere else. No module imports a web framework.
"""
