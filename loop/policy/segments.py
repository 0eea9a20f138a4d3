"""Keys and values of contexts as a tree, and attention of a ragged batch over it.

A segment is a run of tokens; its parent is what stands before it. Contexts that begin alike share
segments: a system message is kept once for a whole batch, and siblings share all that they did
alike. Invariant: what is kept for a token never changes, and no context sees another's tokens.

The model is any of transformers whose attention can be replaced: one forward pass takes tokens of
many contexts in one row, without padding.

Letters: D head size, G query heads a key head, H query heads, K key heads, N tokens fed, P tokens
of one segment, R tokens that are fed to short ones, T tokens of the longest context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from components.errors import PolicyError

ATTENTION = "selvage_segments"
"""Name under which transformers knows the attention of this module."""
_ROOM = 128
"""Tokens by which the room of a segment grows at least."""
_SHORT = 16
"""Tokens up to which contexts are attended to together, and not one by one."""


class Segment:
    """A run of tokens of one context, or of several that begin alike."""

    __slots__ = ("_kept", "length", "parent", "place", "start")

    def __init__(self, number: int, parent: Segment | None = None) -> None:
        """Args: number: its own among all of a batch; parent: complete, as it grows no more."""
        self.parent = parent
        self.start = 0 if parent is None else parent.end
        self.length = 0
        self.place: tuple[int, ...] = (*(parent.place if parent else ()), number)
        """Numbers along the path: in this order, the contexts under a segment stand together."""
        self._kept: dict[int, Tensor] = {}
        """Layer -> [2, K, room, D] keys and values."""

    @property
    def end(self) -> int:
        """Number of tokens of the context so far."""
        return self.start + self.length

    @property
    def num_layers(self) -> int:
        """Number of layers that keep something here."""
        return len(self._kept)

    def path(self) -> list[Segment]:
        """Return the segments of the context, the first one first."""
        before = [] if self.parent is None else self.parent.path()
        return [*before, self]

    def put(self, layer: int, new_2KND: Tensor) -> None:
        """Keep keys and values of the tokens that are being fed, after those that are there."""
        kept, num_new = self._kept.get(layer), new_2KND.shape[2]
        needed = self.length + num_new
        if kept is None or kept.shape[2] < needed:
            shape = list(new_2KND.shape)
            shape[2] = needed if kept is None and num_new > _ROOM else needed + _ROOM
            grown = new_2KND.new_empty(shape)
            if kept is not None:
                grown[:, :, : self.length] = kept[:, :, : self.length]
            kept = self._kept[layer] = grown
        kept[:, :, self.length : needed] = new_2KND

    def cut(self, end: int) -> None:
        """Forget the last tokens, so that the context has `end`."""
        self.length = end - self.start

    def kept(self, layer: int, length: int) -> Tensor:
        """Return [2, K, P, D] keys and values of the first `length` tokens."""
        return self._kept[layer][:, :, :length]


@dataclass(frozen=True, slots=True)
class Fed:
    """Tokens that one context goes on with."""

    segment: Segment
    """The last of its context; the tokens become part of it."""
    ids: Sequence[int]
    num_logits: int = 1
    """Last tokens after which logits are wanted."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A short context: its tokens are those from `first` to `last` of the fed ones."""

    segment: Segment
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Share:
    """A segment, and the tokens of short contexts that see it: those from `first` to `last`."""

    segment: Segment
    first: int
    last: int
    length: int
    """Tokens of it, those that are being fed included."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A longer context: its tokens are those from `first` to `last` of the fed ones."""

    segment: Segment
    first: int
    last: int
    mask_NT: Tensor


@dataclass(frozen=True, slots=True)
class _Step:
    """What the attention of every layer needs to know."""

    runs: list[_Run]
    shares: list[_Share]
    later_RT: Tensor | None
    """Where a place of the context comes after the token; None: nowhere."""
    spans: list[_Span]
    longest: int
    """Tokens of the longest short context."""

    @property
    def num_rows(self) -> int:
        """Tokens of the short contexts."""
        return self.runs[-1].last if self.runs else 0


def prepare(model: Any) -> None:
    """Make a model attend over segments.

    Raises:
        PolicyError: its attention cannot be replaced.
    """
    model.set_attn_implementation(ATTENTION)
    if model.config._attn_implementation != ATTENTION:
        raise PolicyError(
            f"policy.model: the attention of {type(model).__name__} cannot be replaced; "
            "serve the model behind an endpoint and set policy=openai"
        )


def feed(model: Any, contexts: Sequence[Fed]) -> Tensor:
    """Feed each context its tokens and return [row, vocabulary] logits.

    Args:
        model: one that was given to `prepare`.
        contexts: no two with the same last segment. Each gives `num_logits` rows, in order.

    Raises:
        PolicyError: the model has other layers than those of plain attention.
    """
    short = sorted((item for item in contexts if len(item.ids) <= _SHORT), key=_place)
    longer = [item for item in contexts if len(item.ids) > _SHORT]
    ids: list[int] = []
    positions: list[int] = []
    last_of: dict[int, int] = {}
    runs, spans = [], []
    for item in [*short, *longer]:
        first, start = len(ids), item.segment.end
        ids.extend(item.ids)
        positions.extend(range(start, start + len(item.ids)))
        last_of[id(item)] = len(ids)
        if len(item.ids) <= _SHORT:
            runs.append(_Run(item.segment, first, len(ids)))
            continue
        mask_NT = torch.ones(len(item.ids), start + len(item.ids), dtype=torch.bool)
        mask_NT = mask_NT.tril(start).to(model.device)
        spans.append(_Span(item.segment, first, len(ids), mask_NT))
    on = {"device": model.device}
    position_ids = torch.tensor([positions], **on)
    longest = max((run.segment.end + run.last - run.first for run in runs), default=0)
    later_RT = None
    if any(run.last - run.first > 1 for run in runs):
        later_RT = torch.arange(longest, **on) > position_ids[0, : runs[-1].last, None]
    step = _Step(runs, _shares(runs), later_RT, spans, longest)
    wanted = [
        place
        for item in contexts
        for place in range(last_of[id(item)] - item.num_logits, last_of[id(item)])
    ]
    logits: Tensor = model(
        input_ids=torch.tensor([ids], **on),
        position_ids=position_ids,
        logits_to_keep=torch.tensor(wanted, dtype=torch.long, **on),
        use_cache=False,
        selvage_step=step,
    ).logits[0]
    for item in contexts:
        item.segment.length += len(item.ids)
    _check_layers(model, contexts[0].segment)
    return logits


def _place(item: Fed) -> tuple[int, ...]:
    return item.segment.place


def _check_layers(model: Any, segment: Segment) -> None:
    num_layers = model.config.get_text_config().num_hidden_layers
    if segment.num_layers != num_layers:
        raise PolicyError(
            f"policy.model: of the {num_layers} layers of {type(model).__name__}, only "
            f"{segment.num_layers} are plain attention; serve the model behind an endpoint and set "
            "policy=openai"
        )


def _shares(runs: Sequence[_Run]) -> list[_Share]:
    """Return which tokens see which segments; the contexts are in order of place."""
    seen: dict[Segment, list[int]] = {}
    for run in runs:
        for part in run.segment.path():
            seen.setdefault(part, [run.first, run.last])[1] = run.last
    num_new = {run.segment: run.last - run.first for run in runs}
    lengths = {part: part.length + num_new.get(part, 0) for part in seen}
    return [
        _Share(part, first, last, lengths[part])
        for part, (first, last) in seen.items()
        if lengths[part]
    ]


def _attention(
    module: Any,
    query_1HND: Tensor,
    key_1KND: Tensor,
    value_1KND: Tensor,
    _mask: Tensor | None,
    *,
    selvage_step: _Step,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attend; the signature is that of transformers. Returns [1, N, H, D] and no weights."""
    if softcap is not None or s_aux is not None:
        raise PolicyError(
            f"policy.model: {type(module).__name__} caps or shifts its attention, which is not "
            "supported; serve the model behind an endpoint and set policy=openai"
        )
    layer, step = module.layer_idx, selvage_step
    query_HND = query_1HND[0]
    new_2KND = torch.cat((key_1KND, value_1KND))
    scale = query_HND.shape[-1] ** -0.5 if scaling is None else scaling
    outs = []
    for run in step.runs:
        run.segment.put(layer, new_2KND[:, :, run.first : run.last])
    if step.runs:
        query_HRD = query_HND[:, : step.num_rows] * scale
        outs.append(_attend_runs(query_HRD, key_1KND.shape[1], layer, step))
    for span in step.spans:
        span.segment.put(layer, new_2KND[:, :, span.first : span.last])
        outs.append(_attend_span(query_HND[:, span.first : span.last], layer, span, scale))
    return torch.cat(outs)[None], None


def _attend_runs(query_HRD: Tensor, num_key_heads: int, layer: int, step: _Step) -> Tensor:
    """Return [R, H, D]; a segment that several contexts see is read once for all of them.

    A score's column is the token's position, so that one softmax goes over a context's whole path.
    """
    num_heads, num_rows, size = query_HRD.shape
    query_KGRD = query_HRD.view(num_key_heads, -1, num_rows, size)
    query_KRGD = query_KGRD.transpose(1, 2).contiguous()
    group = query_KRGD.shape[2]
    scores_KRGT = query_KRGD.new_full((num_key_heads, num_rows, group, step.longest), float("-inf"))
    for share in step.shares:
        rows = slice(share.first, share.last)
        columns = slice(share.segment.start, share.segment.start + share.length)
        keys_KPD = share.segment.kept(layer, share.length)[0]
        part = query_KRGD[:, rows].reshape(num_key_heads, -1, size) @ keys_KPD.transpose(1, 2)
        scores_KRGT[:, rows, :, columns] = part.view(num_key_heads, -1, group, share.length)
    if step.later_RT is not None:
        scores_KRGT.masked_fill_(step.later_RT[:, None], float("-inf"))
    weights_KRGT = scores_KRGT.softmax(-1, dtype=torch.float32).to(query_HRD.dtype)
    out_KRGD = torch.zeros_like(query_KRGD)
    for share in step.shares:
        rows = slice(share.first, share.last)
        columns = slice(share.segment.start, share.segment.start + share.length)
        values_KPD = share.segment.kept(layer, share.length)[1]
        weights = weights_KRGT[:, rows, :, columns].reshape(num_key_heads, -1, share.length)
        out_KRGD[:, rows] += (weights @ values_KPD).view(num_key_heads, -1, group, size)
    return out_KRGD.transpose(0, 1).reshape(num_rows, num_heads, size)


def _attend_span(query_HND: Tensor, layer: int, span: _Span, scale: float) -> Tensor:
    """Return [N, H, D] of one context's tokens, each of which sees those before it."""
    num_new = span.last - span.first
    parts = [
        part.kept(layer, part.length + (num_new if part is span.segment else 0))
        for part in span.segment.path()
        if part.length or part is span.segment
    ]
    kept_2KTD = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
    out_1HND = scaled_dot_product_attention(
        query_HND[None],
        kept_2KTD[:1],
        kept_2KTD[1:],
        attn_mask=span.mask_NT,
        scale=scale,
        enable_gqa=query_HND.shape[0] != kept_2KTD.shape[1],
    )
    return out_1HND[0].transpose(0, 1)


AttentionInterface.register(ATTENTION, _attention)
