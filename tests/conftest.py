"""Properties are about answers, not about how busy the machine is."""

from hypothesis import settings

settings.register_profile("weft", deadline=None)
settings.load_profile("weft")

pytest_plugins = ["services.fixtures", "api.exercised", "support.standstill"]
