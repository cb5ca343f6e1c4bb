"""ChunkedLLM: the API of the earlier Python library, on a Cascade daemon."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypedDict, Union

from .chunk import Chunk, ChunkInfo
from .client import Client
from .compose import composed, with_query
from .endpoint import is_endpoint
from .errors import CascadeError, invalid_argument
from .names import ChunkType, ErrorCode
from .options import ClientOptions
from .private_daemon import PrivateDaemon
from .replies import Final, StatsReply, Usage
from .requests import GenerateRequest
from .sampling_params import SamplingParams

Params = Union[SamplingParams, Mapping[str, Any], None]

# Lists cut texts to 400 bytes, at the beginning of a code point. A text of at most this many bytes
# is surely whole.
_SURELY_WHOLE_BYTES = 396


class GenerationOutput(TypedDict):
    """What a generation returns."""

    text: str  # thoughts removed
    token_ids: list[int]  # as sampled, thoughts included
    output_chunk_id: str | None  # None: nothing was retained
    retained_seq_id: str | None  # the same id
    reasoning: str  # the thoughts
    finish_reason: str  # "stop", "length", "cancelled"
    usage: Usage
    attention: str  # that was used: "dense", "window:W:S", "select:B:D" or "verify:B:D"
    approximation: str  # of the K and V that it continued: "none", "splice", "mask"


class RetainedSequence(TypedDict):
    """One retained sequence of get_retained_sequences()."""

    text: str  # thoughts removed
    think_positions: list[tuple[int, int]] | None  # in token_ids, half-open; None: no thoughts
    output_chunk_id: str
    query: str  # the message that it answers
    num_tokens: int  # tokens of its text
    kv_state: str  # "ready", "pending", "none"
    kv_approximation: str  # "none", "splice", "mask"
    kv_bytes: int


class ChunkedLLM:
    """Generations composed of chunks; their outputs are chunks again.

        llm = ChunkedLLM("/models/Qwen3-0.6B")           # starts a private cascaded
        llm = ChunkedLLM("ipc:///run/cascaded/cascaded.sock")  # connects to a running one
        llm = ChunkedLLM()                               # the same, at default_endpoint()

    A **private daemon** has a socket and a state directory in a temporary folder. It ends, and its
    chunks with it, with close() or when Python ends. With `state_dir`, its chunks and their K and V
    are kept there for the next private daemon ("": nothing is written to disk). `cascaded` names
    the program, else $CASCADED, else $PATH. `chunk_memory_ratio` is the share of the KV memory that
    retained outputs may hold; `daemon_arguments` are further options of cascaded. These four are
    for a private daemon only.

    A **running daemon** may have other users: chunks are those of its tenant, and outlive this
    object.

    Any number of threads may use it. Errors: CascadeError, as from Client. `self.client` is that
    Client, and has what this class does not: streams, sessions, names, pins, times to live.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        *,
        cascaded: str | os.PathLike[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        chunk_memory_ratio: float | None = None,
        daemon_arguments: Sequence[str] = (),
        start_timeout_s: float = 600.0,
        options: ClientOptions | None = None,
    ) -> None:
        self._daemon: PrivateDaemon | None = None
        where = None if model_path is None else os.fspath(model_path)
        if where is None or is_endpoint(where):
            for_daemons = (cascaded, state_dir, chunk_memory_ratio, daemon_arguments or None)
            if any(one is not None for one in for_daemons):
                raise invalid_argument(
                    "model_path",
                    "is the endpoint of a running daemon; cascaded, state_dir, "
                    "chunk_memory_ratio and daemon_arguments need the folder of a model, for "
                    "which a private daemon is started",
                )
            self.client = Client(where, options=options)
            return
        arguments = list(daemon_arguments)
        if chunk_memory_ratio is not None:
            arguments += ["--chunk-memory-ratio", str(chunk_memory_ratio)]
        self._daemon = PrivateDaemon(
            where,
            cascaded=cascaded,
            state_dir=state_dir,
            arguments=arguments,
            start_timeout_s=start_timeout_s,
        )
        try:
            self.client = Client(self._daemon.endpoint, options=options)
        except BaseException:
            self._daemon.stop()
            raise

    @property
    def llm(self) -> ChunkedLLM:
        """This object: the earlier library reached retained sequences as ``llm.llm``."""
        return self

    def close(self) -> None:
        """Ends the connection, and the private daemon if there is one."""
        self.client.close()
        if self._daemon is not None:
            self._daemon.stop()

    def __enter__(self) -> ChunkedLLM:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def register_chunk(self, text: str, chunk_type: ChunkType) -> str:
        """Returns the id of the chunk; the same type and text again gives the same id."""
        return self.client.register_chunk(text, chunk_type)

    def generate(
        self, prompts: str | Sequence[str], sampling_params: Params = None
    ) -> list[GenerationOutput]:
        """Continues raw texts, all at once, without a chat template. With `retain_output_cache` the
        outputs are kept as chunks. Raises the first error, if there is one."""
        params = SamplingParams.of(sampling_params)
        texts = [prompts] if isinstance(prompts, str) else prompts
        requests = []
        for text in texts:
            request = params.request()
            request.prompt = text
            requests.append(request)
        outputs = []
        for ended in self.client.generate_batch(requests):
            if isinstance(ended, CascadeError):
                raise ended
            outputs.append(_output(ended))
        return outputs

    def generate_and_retain_output(
        self, system_prompt: str, query: str, sampling_params: Params = None
    ) -> GenerationOutput:
        """Answers `query` and keeps the answer as an output chunk. An empty `system_prompt` means
        none."""
        params = SamplingParams.of(sampling_params).request()
        return self._generate(with_query(params, system_prompt, query))

    def generate_from_chunks(
        self,
        system_chunk_id: str | None = None,
        query_chunk_id: str = "",
        context_chunk_ids: Sequence[str] | None = None,
        sampling_params: Params = None,
    ) -> GenerationOutput:
        """Composes chunks by id: a system prompt or none, contexts and outputs in order, a query.
        An output brings its whole turn, the question and the answer."""
        params = SamplingParams.of(sampling_params).request()
        contexts = [] if context_chunk_ids is None else context_chunk_ids
        return self._generate(composed(params, system_chunk_id or "", contexts, query_chunk_id))

    def get_retained_sequences(self) -> dict[str, RetainedSequence]:
        """All output chunks by id, newest first. In a running daemon, all of its tenant."""
        found = {}
        for info in self.client.get_retained_sequences():
            text = self._whole_text(info)
            if text is not None:
                found[info.chunk.id] = _retained(info, text)
        return found

    def release_retained_sequence(self, seq_id: str) -> None:
        """Gives up one retention of an output chunk. With the last holder the chunk is deleted,
        since a daemon keeps no output whose K and V it may not keep. That frees the K and V of the
        answer at once, and those of the question unless another retained output continues from it.
        Errors: not_found; conflict if the chunk is pinned or a session's turn; invalid_argument if
        it is not an output."""
        self.client.release_retained_sequence(seq_id)

    def delete_chunk(self, chunk_id: str) -> Chunk:
        """Gives up one holder of any chunk: a retention, else its only name. With the last holder
        the chunk and its K and V are deleted. Returns the chunk as it is afterwards."""
        return self.client.delete_chunk(chunk_id)

    def get_chunk_stats(self) -> StatsReply:
        """The space that chunks and their pages take, by type, and what the cache did."""
        return self.client.get_chunk_stats()

    def _generate(self, request: GenerateRequest) -> GenerationOutput:
        return _output(self.client.generate(request))

    def _whole_text(self, info: ChunkInfo) -> str | None:
        """None if the chunk no longer exists."""
        if len(info.chunk.text.encode()) <= _SURELY_WHOLE_BYTES:
            return info.chunk.text
        try:
            return self.client.get_chunk(info.chunk.id).text
        except CascadeError as error:
            if error.code == ErrorCode.NOT_FOUND:
                return None
            raise


def _output(final: Final) -> GenerationOutput:
    retained = final.output_chunk_id or None
    return {
        "text": final.text,
        "token_ids": final.token_ids,
        "output_chunk_id": retained,
        "retained_seq_id": retained,
        "reasoning": final.reasoning,
        "finish_reason": final.finish_reason,
        "usage": final.usage,
        "attention": final.attention,
        "approximation": str(final.approximation),
    }


def _retained(info: ChunkInfo, text: str) -> RetainedSequence:
    chunk = info.chunk
    return {
        "text": text,
        "think_positions": [(span.begin, span.end) for span in chunk.think_spans] or None,
        "output_chunk_id": chunk.id,
        "query": chunk.query_text,
        "num_tokens": info.tokens,
        "kv_state": str(chunk.kv_state),
        "kv_approximation": str(chunk.kv_approximation),
        "kv_bytes": chunk.kv_bytes,
    }
