"""Spaces of text. Gymnasium's own holds only strings of a given alphabet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces


class AnyText(spaces.Text):
    """Every string of some length, whatever its characters. Samples are short and of letters and digits."""

    LONGEST: ClassVar[int] = 2**31 - 1

    def __init__(
        self, min_length: int = 0, max_length: int = LONGEST, *, seed: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(max_length, min_length=min_length, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(self.min_length, min(self.max_length, self.min_length + 32) + 1))
        return super().sample((length, None))

    def __repr__(self) -> str:
        longest = "" if self.max_length == self.LONGEST else f", {self.max_length}"
        return f"{type(self).__name__}({self.min_length}{longest})"


class JsonText(AnyText):
    """JSON text of a value that no other space describes. Samples are values that its schema allows, as far as a schema is
    easily met; in observations, a string stands for itself."""

    def __init__(
        self, example: Callable[[np.random.Generator], str], *, seed: int | np.random.Generator | None = None
    ) -> None:
        self._example = example
        super().__init__(seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return self._example(self.np_random)
