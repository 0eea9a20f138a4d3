"""Why a draft does not become a task: one closed list, for the author and for the gates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a draft was given up, or why a task was refused admission."""

    TOO_FEW_SERVICES = "too_few_services"
    """The system has fewer services of the wanted domains than a task needs."""
    NO_REACTION = "no_reaction"
    """No write that was tried in this world makes another service change a row that can be read."""
    NO_PATH = "no_path"
    """No chain of reads gives what the write needs within the wanted length."""
    NO_USE = "no_use"
    """No write of another service can use the value that was read again."""
    WRONG_LENGTH = "wrong_length"
    """The chain could not be brought to K services and L calls."""

    STRUCTURE = "structure"
    """Steps, spans, services or the answer do not fit together."""
    GOLD_FAILS = "gold_fails"
    """A call of gold is refused, or gold does not pass."""
    UNDERIVABLE = "underivable"
    """A value of gold cannot be derived from what is known when it is needed."""
    UNSTATED_VALUE = "unstated_value"
    """A value that counts is neither in the instruction nor in an observation."""
    SHOWN_ELSEWHERE = "shown_elsewhere"
    """A value that should need an observation can be had without it."""
    AMBIGUOUS_REFERENT = "ambiguous_referent"
    """The query for a referent does not return exactly one row."""
    ANSWER_REFUSED = "answer_refused"
    """The answer's schema does not allow the right answer."""
    DEMANDS = "demands"
    """A demand has no gold step, or a gold write no demand."""
    NAMES_DISTRACTOR = "names_distractor"
    """The instruction names a service that is not needed."""
    REVEALS_ID = "reveals_id"
    """The instruction holds an internal id."""
    CLUMSY = "clumsy"
    """The instruction says a word twice in a row."""
    UNNATURAL = "unnatural"
    """Nobody would ask for such a thing so: steps without sense together, or a chain of names."""
    OUT_OF_ORDER = "out_of_order"
    """Whoever reads what a sentence needs when its turn comes finds another thing than gold."""
    GOAL_ALREADY_TRUE = "goal_already_true"
    """A gold write has nothing to do, or doing nothing passes."""
    CLAUSES = "clauses"
    """A restraint, a condition or a write for every row does not fit gold."""
    USER = "user"
    """The user's messages do not fit gold, or gold fails in a conversation with them."""
    NO_RULE = "no_rule"
    """No write of a walk is under a policy rule, with a fact that could be otherwise."""
    POLICY = "policy"
    """Gold breaks a rule, or the two halves of a pair do not differ in one fact that a rule turns
    on."""
    STALE_GOLD = "stale_gold"
    """A read that should give a new value gives what was known before."""
    UNUSED_READ = "unused_read"
    """A gold read gives nothing that a later step or the answer needs."""
    FALSE_PASS = "false_pass"
    """A mutant that must fail passes."""
    FALSE_FAIL = "false_fail"
    """A variant that must pass fails."""
    UNSCORED = "unscored"
    """The evaluator could not decide a criterion."""
    UNUSABLE_ANSWER = "unusable_answer"
    """A model's answer holds nothing of what was asked."""
    STATE = "state"
    """Changes at the start do not apply, or break a promise of the world contract."""
    NO_SOLUTION = "no_solution"
    """The author did not solve its own request by calls."""
    EFFECTS = "effects"
    """The solution does something else than the design says."""
    ENDPOINT = "endpoint"
    """The endpoint of the model failed, or refused."""
    WINDOW = "window"
    """A prompt does not fit the model's window."""
    BUDGET = "budget"
    """No further request to the model fits the budget."""
    LAPSED = "lapsed"
    """The gates run again give another certificate than the stored one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A task that was refused admission."""

    reason: Reason
    detail: str
    """Which step, argument, span or probe, in words."""
