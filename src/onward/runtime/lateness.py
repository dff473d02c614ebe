"""How late timers are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from onward.ports.metrics import TIMER_LATENESS, TIMERS_FIRED, Meter
from onward.ports.timers import Due


class _Sent(msgspec.Struct, frozen=True):
    """What a token says about its time: a wait or a retry is sent when it is due."""

    token_id: str = ""
    signal: str = ""
    sent_at: int = 0


_decoder = msgspec.json.Decoder(_Sent)


def tell_lateness(meter: Meter, sent: Sequence[Due], now_ms: int) -> None:
    """Count timers whose tokens are sent at `now_ms`, and how late those that say so are.

    A time-out carries the time at which it was set, and a lease that of its message: they are
    counted only.
    """
    meter.add(TIMERS_FIRED, amount=len(sent))
    for timer in sent:
        try:
            token = _decoder.decode(timer.body)
        except msgspec.DecodeError:
            continue
        if token.token_id == timer.timer_id and token.signal != "timeout" and token.sent_at:
            meter.observe(TIMER_LATENESS, max(0, now_ms - token.sent_at) / 1000)
