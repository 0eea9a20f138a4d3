"""What all tests share: property tests that do not fail because a machine is busy."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("selvage", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("selvage")
