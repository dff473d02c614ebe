"""Properties are about answers, not about how busy the machine is; and Ctrl-C can be tested."""

import signal

from hypothesis import settings

settings.register_profile("onward", deadline=None)
settings.load_profile("onward")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background of a shell ignores it, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["services.fixtures", "api.exercised", "support.standstill"]
