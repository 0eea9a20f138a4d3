"""What work with a model may cost, counted by stage, and refused before it is spent.

Invariant: a request is made only if its largest possible cost fits into what is left. A prompt has
at most as many tokens as bytes; an answer at most as many as the request allows. What an endpoint
says that it used is believed; where it says nothing, the largest possible cost is counted.
"""

from __future__ import annotations

from components.model.config import ModelConfig
from components.model.records import Message, StageFigures, Tried

_MESSAGE_TOKENS = 16
"""What a chat template may put around a message."""
MIN_ANSWER_TOKENS = 256
"""An answer of fewer tokens is not worth its prompt."""


class BudgetSpent(Exception):
    """No further request fits; the text says into which budget."""


class Budget:
    """Counts the costs of one piece of work (a service, the patches of a round) while it lasts."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self.stages: dict[str, StageFigures] = {}

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return sum(item.prompt_tokens + item.answer_tokens for item in self.stages.values())

    @property
    def usd(self) -> float:
        """Cost so far."""
        return sum(item.usd for item in self.stages.values())

    def allowance(self, messages: tuple[Message, ...]) -> int:
        """Return how many tokens an answer to this prompt may have.

        Raises:
            BudgetSpent: too few are left.
        """
        config, prompt = self._config, _largest_prompt(messages)
        by_tokens = config.budget.tokens - self.tokens - prompt
        allowed = min(by_tokens, config.max_answer_tokens)
        if by_tokens < MIN_ANSWER_TOKENS:
            raise BudgetSpent(
                f"budget.tokens={config.budget.tokens} is spent: {self.tokens} are used, and the "
                f"next request may need {prompt + MIN_ANSWER_TOKENS}"
            )
        if config.usd_per_million_prompt_tokens or config.usd_per_million_answer_tokens:
            left = config.budget.usd - self.usd - self._price(prompt, 0)
            if left < self._price(0, MIN_ANSWER_TOKENS):
                raise BudgetSpent(
                    f"budget.usd={config.budget.usd:g} is spent: {self.usd:.4f} are used, and the "
                    f"next request may cost {self._price(prompt, MIN_ANSWER_TOKENS):.4f}"
                )
            if config.usd_per_million_answer_tokens:
                by_usd = int(left * 1e6 / config.usd_per_million_answer_tokens)
                allowed = min(allowed, by_usd)
        return allowed

    def charge(
        self, stage: str, messages: tuple[Message, ...], max_tokens: int, tried: Tried
    ) -> None:
        """Count one HTTP request."""
        prompt = _counted(tried.prompt_tokens, tried, _largest_prompt(messages))
        answer = _counted(tried.answer_tokens, tried, max_tokens)
        self.add(
            stage,
            requests=1,
            prompt_tokens=prompt,
            answer_tokens=answer,
            usd=self._price(prompt, answer),
        )

    def add(self, stage: str, **amounts: float) -> None:
        """Add to a stage's figures."""
        name = str(stage)
        old = self.stages.get(name, StageFigures())
        new = {key: getattr(old, key) + amount for key, amount in amounts.items()}
        self.stages[name] = old.model_copy(update=new)

    def _price(self, prompt: int, answer: int) -> float:
        config = self._config
        of_prompt = prompt * config.usd_per_million_prompt_tokens
        return (of_prompt + answer * config.usd_per_million_answer_tokens) / 1e6


def _largest_prompt(messages: tuple[Message, ...]) -> int:
    return sum(len(message.content.encode()) + _MESSAGE_TOKENS for message in messages)


def _counted(said: int | None, tried: Tried, largest: int) -> int:
    if not tried.may_cost:
        return 0
    return largest if said is None or said < 0 else said
