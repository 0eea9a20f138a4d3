"""Check the machine and the installation, a line each: ok, warn or fail, and how to mend it.

    python -m loop doctor
    python -m loop doctor policy=openai policy.base_url=http://localhost:8000/v1 policy.model=mine

The exit status is 0 when nothing fails, and 1 otherwise. Writes a row to a database in `runs_dir`
and removes it again; asks the policy's endpoint for its models where the configuration names one.
"""

from __future__ import annotations

from collections import Counter

from loop.doctor.check import Level
from loop.doctor.folders import check_folders
from loop.doctor.machine import check_machine
from loop.doctor.packages import check_packages
from loop.doctor.reach import check_endpoint, check_local, check_tracking
from loop.plain_page import visible
from loop.verb_configs import DoctorConfig


def main(config: DoctorConfig) -> int:
    """Print every check and return the exit status."""
    checks = [
        *check_machine(),
        *check_folders(config.runs_dir),
        *check_packages(needs_model=str(config.policy.kind) == "local"),
        *check_local(config.policy),
        *check_endpoint(config.policy),
        check_tracking(config.tracking),
    ]
    for check in checks:
        print(visible(check.line))
    counts = Counter(check.level for check in checks)
    print(f"{counts[Level.OK]} ok, {counts[Level.WARN]} to look at, {counts[Level.FAIL]} failed")
    return 1 if counts[Level.FAIL] else 0
