"""Whether a service is as it was certified, and whether it could have been admitted so.

A service takes part only when it passes the gates that are written from its specification. One that
is byte for byte as certificates name it, and that fails them now, was admitted under another
specification: the sentence that it fails was written, or changed, since.
"""

from __future__ import annotations

from collections.abc import Iterator

from attribution.kept import kept
from components.environment.gates.run import Admission, admit_service
from components.errors import SelvageError
from components.records.base import Record, hash_record
from components.records.system import System
from components.records.task import Certificate


def admission(system: System, service: str) -> Admission:
    """Return what the gates say of a service, asked once for each content.

    Raises:
        ComputeError: the walls of a code service do not stand here.
    """
    environment = system.environment
    inputs = (
        system.reference.specs[service],
        environment.blueprints[service],
        environment.seeds[service],
        environment.code.get(service),
    )
    return kept("gates", inputs, lambda: admit_service(*inputs))


def is_as_certified(system: System, service: str) -> bool:
    """Return whether some certificate names the service just as it is."""
    return any(
        f"blueprint/{service}" in item.environment_hashes and not _is_changed(system, service, item)
        for item in system.reference.certificates.values()
    )


def fails_gate(system: System, service: str, tool: str, rule: str) -> bool:
    """Return whether a tool, as it is, fails the gate of one sentence of its specification.

    Args:
        system: the system as it is.
        service, tool: the tool.
        rule: the sentence as the gates name it, as in `rule NAME`.
    """
    try:
        failures = admission(system, service).failures
    except SelvageError:
        return False
    return any((item.tool, item.rule) == (tool, rule) for item in failures)


def is_admitted_again(system: System, certificate: Certificate) -> bool:
    """Return whether every service that has changed since a certificate passes its gates now.

    A certificate that was made anew of one that does not would say that it had been admitted.
    """
    named = {key.partition("/")[2] for key in certificate.environment_hashes if "/" in key}
    for service in sorted(named & set(system.reference.specs)):
        if _is_changed(system, service, certificate):
            try:
                if admission(system, service).failures:
                    return False
            except SelvageError:
                return False
    return True


def _is_changed(system: System, service: str, certificate: Certificate) -> bool:
    hashes = certificate.environment_hashes
    return any(
        hashes.get(artifact) != _hash(record) for artifact, record in _artifacts(system, service)
    )


def _hash(record: Record) -> str:
    return kept("hash", (record,), lambda: hash_record(record))


def _artifacts(system: System, service: str) -> Iterator[tuple[str, Record]]:
    environment = system.environment
    if service not in environment.blueprints:
        return
    yield f"blueprint/{service}", environment.blueprints[service]
    yield f"seed/{service}", environment.seeds[service]
    if service in environment.code:
        yield f"code/{service}", environment.code[service]
