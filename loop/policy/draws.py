"""Tokens drawn from logits.

Letters: C entries of a block, J blocks, R rows, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

_BLOCK = 256
"""Entries whose probabilities are added up first."""


class Draws:
    """The distributions of some rows. A draw falls where a number says on the cumulated
    probabilities, in the order of the vocabulary, so that close models draw alike.
    """

    def __init__(self, logits_RV: Tensor, temperature: float) -> None:
        """Args: logits_RV: of the model; temperature: 0 takes the most probable token."""
        logits_RV = logits_RV.float()
        self._logits_RV, self._is_greedy = logits_RV, temperature == 0
        self._total_R = logits_RV.logsumexp(-1)
        if self._is_greedy:
            self._best_R = logits_RV.argmax(-1)
            return
        probs_RV = (logits_RV / temperature).softmax(-1)
        padded = pad(probs_RV, (0, -probs_RV.shape[-1] % _BLOCK))
        self._probs_RJC = padded.view(len(padded), padded.shape[-1] // _BLOCK, _BLOCK)
        self._sums_RJ = self._probs_RJC.sum(-1, dtype=torch.float64).cumsum(-1)

    def token(self, row: int, number: float) -> tuple[int, float]:
        """Return one token and its log-probability (nats, at temperature 1).

        Args:
            row: whose distribution.
            number: in [0, 1); a greedy draw does not look at it.
        """
        token = int(self._best_R[row]) if self._is_greedy else self._found(row, number)
        return token, float(self._logits_RV[row, token] - self._total_R[row])

    def _found(self, row: int, number: float) -> int:
        sums_J = self._sums_RJ[row]
        sought = number * float(sums_J[-1])
        block = min(_place(sums_J, sought), len(sums_J) - 1)
        before = float(sums_J[block - 1]) if block else 0.0
        inner_C = self._probs_RJC[row, block].double().cumsum(0)
        return block * _BLOCK + _place(inner_C, min(sought - before, float(inner_C[-1])))


def _place(sums: Tensor, sought: float) -> int:
    """Return the first place whose sum is greater; if none is, the first that reaches the last."""
    found = int(torch.searchsorted(sums, sought, right=True))
    return found if found < len(sums) else int(torch.searchsorted(sums, float(sums[-1])))
