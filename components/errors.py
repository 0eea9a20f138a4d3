"""The exception tree: one type a boundary, so that blame can start from the type alone.

    SelvageError
    +-- UserError            what the person at the keyboard can mend: one line, exit status 2
    |   +-- ConfigError      a key, an override or a configuration file
    |   +-- LedgerError      a run folder: locked, changed, gapped, damaged
    |   +-- SpecError        a tool specification or an mcpServers file
    |   +-- PolicyError      a model or its endpoint that answers nothing at all
    |   +-- ComputeError     workers that cannot be started, or are lost again and again
    +-- BoundaryError        something broke at a boundary: data when it ends one rollout
        +-- ProviderError    the policy's endpoint
        +-- HarnessError     rendering, parsing, limits
        +-- ToolError        a tool call that could not be answered at all
        +-- EnvironmentFault a service or a reaction broke its own rules
        +-- VerifierError    a criterion could not be decided
        +-- SimulatorError   a user's script could not be followed
        +-- SynthesisError   a service or a task could not be made

Unknown exceptions inside `boundary(...)` become that boundary's type once; typed ones pass through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SelvageError(Exception):
    """Root of all errors that this program raises on purpose."""


class UserError(SelvageError):
    """One clear line for the person who started the program; the exit status is 2."""


class ConfigError(UserError):
    """A configuration key, value or override is wrong."""


class LedgerError(UserError):
    """A run folder cannot be used as it is."""


class SpecError(UserError):
    """A tool specification or server list cannot be read."""


class PolicyError(UserError):
    """A model cannot be opened, or its endpoint answers nothing at all."""


class ComputeError(UserError):
    """Workers cannot be started, or are lost again and again."""


class BoundaryError(SelvageError):
    """Something failed at a boundary; `boundary_name` says which."""

    boundary_name = "unknown"


class ProviderError(BoundaryError):
    """The policy's endpoint did not answer usefully."""

    boundary_name = "provider"


class HarnessError(BoundaryError):
    """The harness could not render, parse or count."""

    boundary_name = "harness"


class ToolError(BoundaryError):
    """A tool call could not be answered at all (an error envelope is an answer)."""

    boundary_name = "tool"


class EnvironmentFault(BoundaryError):
    """A service or a reaction broke its own rules."""

    boundary_name = "environment"


class VerifierError(BoundaryError):
    """A criterion could not be decided."""

    boundary_name = "verifier"


class SimulatorError(BoundaryError):
    """The script of a multi-turn task's user could not be followed: never the policy's failure."""

    boundary_name = "user"


class SynthesisError(BoundaryError):
    """A service or a task could not be made."""

    boundary_name = "synthesis"


@contextmanager
def boundary(error_type: type[BoundaryError], doing: str) -> Iterator[None]:
    """Give an unknown exception its boundary's type, once.

    Args:
        error_type: the type that an untyped exception becomes.
        doing: what was being done, as the start of the message ("call helpdesk.get_ticket").
    """
    try:
        yield
    except SelvageError:
        raise
    except Exception as error:
        raise error_type(f"{doing}: {type(error).__name__}: {error}") from error
