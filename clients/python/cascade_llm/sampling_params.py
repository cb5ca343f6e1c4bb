"""The parameters of a generation, under the names of the earlier Python library."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import invalid_argument
from .grammar import Grammar
from .names import ThinkPolicy
from .requests import GenerateRequest, LogitBias, Sampling


@dataclasses.dataclass
class SamplingParams:
    """Everything of a GenerateRequest except its prompt. None: the daemon or the model decides."""

    temperature: float | None = None  # 0: greedy
    max_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[int, float] | None = None  # by token id
    seed: int | None = None
    stop: str | Sequence[str] = ()
    ignore_eos: bool = False
    thinking: bool | None = None
    reasoning_effort: str | None = None  # "low", "high", … as the model knows them
    retain_output_cache: bool = False  # keep the output as a chunk, with its KV
    think_policy: ThinkPolicy | None = None
    heal: bool | None = None  # with SPLICE and MASK: exact K and V follow in idle time
    attention: str | None = None  # "dense", "window:W:S", "select:B:D", "verify:B:D"
    logprobs: bool = False
    top_logprobs: int = 0
    timeout_ms: int = 0
    reuse: bool = True
    output_name: str | None = None  # these five only with retain_output_cache or session
    output_pinned: bool | None = None
    output_ttl_ms: int | None = None
    output_priority: int | None = None
    output_priority_ms: int | None = None
    prompt_priority: int | None = None
    prompt_priority_ms: int | None = None
    session: str = ""
    grammar: Grammar | None = None  # the form that the answer must have

    @classmethod
    def of(cls, given: SamplingParams | Mapping[str, Any] | None) -> SamplingParams:
        """Converts whatever the methods of ChunkedLLM accept: a SamplingParams, a dict, or
        nothing."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise invalid_argument(
                "sampling_params",
                f"must be a SamplingParams or a dict, got {type(given).__name__}",
            )
        known = [field.name for field in dataclasses.fields(cls)]
        for name in given:
            if name not in known:
                raise invalid_argument(
                    f"sampling_params[{name!r}]",
                    f"is not a parameter; the parameters are {', '.join(known)}",
                )
        return cls(**given)

    def request(self) -> GenerateRequest:
        """A request without a prompt."""
        sampling = Sampling(**{name: getattr(self, name) for name in _SAMPLING})
        if self.logit_bias is not None:
            if not isinstance(self.logit_bias, Mapping):
                raise invalid_argument(
                    "sampling_params['logit_bias']", "must be a dict from token ids to numbers"
                )
            sampling.logit_bias = [LogitBias(*pair) for pair in self.logit_bias.items()]
        return GenerateRequest(
            sampling=sampling,
            max_tokens=0 if self.max_tokens is None else self.max_tokens,
            stop=[self.stop] if isinstance(self.stop, str) else list(self.stop),
            retain_output=self.retain_output_cache,
            **{name: getattr(self, name) for name in _REQUEST},
        )


_ALL = {field.name for field in dataclasses.fields(SamplingParams)}
# The fields that both classes have with the same name and meaning.
_SAMPLING = _ALL & {field.name for field in dataclasses.fields(Sampling)} - {"logit_bias"}
_REQUEST = _ALL & {field.name for field in dataclasses.fields(GenerateRequest)} - {
    "max_tokens",
    "stop",
}
