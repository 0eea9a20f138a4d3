"""The one way from a conversation to token ids: prompts while acting, context and mask in training.

Owns the ChatML layout. Invariant: the ids of a conversation begin with the ids of each of its
beginnings, and a reply's ids are those that were sampled, so that what is trained on is what was
acted on. It refuses to let text from tools or tasks become special tokens: `<|im_end|>` in an
observation is ten plain characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from components.errors import PolicyError
from components.harness.policy import Message
from loop.policy.check import CHAT_TOKENS, MODEL_REMEDY

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_START, _END = CHAT_TOKENS
_KEPT_TEXTS = 4096
"""Texts whose ids are kept: a system message is asked for again at every turn of its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A conversation as token ids."""

    ids: tuple[int, ...]
    """[T] token ids."""
    is_reply: tuple[bool, ...]
    """[T] True where the policy chose the token, the end of its turn included if it chose that."""


class ChatTokens:
    """Tokenises conversations for one tokenizer. Stateless but for a cache; any thread may use it.

    A block is `<|im_start|>role`, a newline, the text, `<|im_end|>` and a newline; what follows a
    block closes it. There is no tool role: observations and feedback of one turn share one `user`
    block, a line each.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Args: tokenizer of the model.

        Raises:
            PolicyError: it has no ChatML tokens.
        """
        known = tokenizer.get_added_vocab()
        if _START not in known or _END not in known:
            raise PolicyError(
                f"policy.model: its tokenizer has no {_START} and {_END}: it is not trained on "
                f"ChatML; {MODEL_REMEDY}"
            )
        self._tokenizer = tokenizer
        self._start_id: int = known[_START]
        self.end_id: int = known[_END]
        """The token that ends a turn."""
        self._kept = lru_cache(maxsize=_KEPT_TEXTS)(self._ids_of)

    def refuse_unknown(self, size: int) -> None:
        """Refuse a model that does not know every token.

        Args:
            size: number of tokens that it has embeddings of.

        Raises:
            PolicyError: the tokenizer has more.
        """
        highest = max(self._tokenizer.get_vocab().values())
        if highest >= size:
            raise PolicyError(
                f"policy.model: its tokenizer has {highest + 1} tokens, the model only {size}; "
                "give the tokenizer that belongs to the weights"
            )

    def encode(self, messages: Sequence[Message], *, reply_next: bool) -> Tokens:
        """Return a conversation's ids, and which of them are the policy's.

        An assistant message with `token_ids` is those ids and no others. One without (a script's, a
        gold solution's) is its text as one segment and the end token, all of it the policy's.

        Args:
            messages: the conversation so far.
            reply_next: also open the block that the policy is about to fill.
        """
        ids: list[int] = []
        is_reply: list[bool] = []

        def add(tokens: Iterable[int], chosen: bool = False) -> None:
            before = len(ids)
            ids.extend(tokens)
            is_reply.extend([chosen] * (len(ids) - before))

        def begin(role: str) -> None:
            if ids:
                is_closed = is_reply[-1] and ids[-1] == self.end_id
                add([*([] if is_closed else [self.end_id]), *self._kept("\n")])
            add([self._start_id, *self._kept(f"{role}\n")])

        open_role = ""
        for message in messages:
            role = "user" if message.role == "tool" else message.role
            if role == open_role == "user":
                add(self._kept("\n"))
            else:
                begin(role)
            open_role = role
            if role != "assistant":
                add(self._kept(message.content))
            elif message.token_ids is not None:
                add(message.token_ids, chosen=True)
            else:
                add((*self._kept(message.content), self.end_id), chosen=True)
        if reply_next:
            begin("assistant")
        return Tokens(ids=tuple(ids), is_reply=tuple(is_reply))

    def text_of(self, reply_ids: Sequence[int]) -> str:
        """Return a reply's text, special tokens as they are written, without its end token."""
        ids = list(reply_ids)
        if ids and ids[-1] == self.end_id:
            del ids[-1]
        text = self._tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        assert isinstance(text, str)
        return text

    def _ids_of(self, text: str) -> tuple[int, ...]:
        plain = text.encode("utf-8", "replace").decode()  # half surrogates have no tokens
        found = self._tokenizer.encode(plain, add_special_tokens=False, split_special_tokens=True)
        return tuple(found)
