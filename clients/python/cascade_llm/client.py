"""The client for programs without an event loop."""

from __future__ import annotations

import weakref
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from .aio import AsyncClient
from .chunk import ChangedChunk, Chunk, ChunkInfo
from .endpoint import default_endpoint
from .errors import CascadeError
from .event_stream import EventStream
from .loop_thread import LoopThread
from .names import ChunkType, TextStart
from .options import ClientOptions
from .replies import (
    ApplyTemplateReply,
    BackupReply,
    ChunkListReply,
    ChunkSearchHit,
    DetokenizeReply,
    ExpiryPolicy,
    Final,
    FsckReply,
    ModelInfo,
    ModelListReply,
    Pong,
    PrefixReply,
    SessionInfo,
    SessionReply,
    StatsReply,
    StatusReply,
)
from .requests import ChatMessage, GenerateRequest, PrefixCache
from .stream import Stream

_R = TypeVar("_R")


class Client:
    """A connection to the daemon. Any number of threads may use it at once, and each may have any
    number of streams; one thread at a time iterates over a Stream. A fork cannot use it.

        with Client() as client:
            final = client.generate(GenerateRequest(prompt="The capital of France"))

    Every method raises CascadeError: the daemon's own, or ``unavailable`` (field "endpoint") if the
    daemon was not reached, did not answer in time or was restarted, or if the connection broke.
    Then all requests in flight fail, and the next call connects again. Prefixes belong to the
    connection and end with it. KeyboardInterrupt in generate() cancels the generation.

    It is an AsyncClient on a thread of its own, with the same methods."""

    def __init__(
        self, endpoint: str | None = None, *, options: ClientOptions | None = None
    ) -> None:
        """Connects, and exchanges a Ping. If `endpoint` is None, it is default_endpoint()."""
        endpoint = default_endpoint() if endpoint is None else endpoint
        self._client = AsyncClient(endpoint, options=options)
        self._thread = LoopThread()
        self._end = weakref.finalize(self, _close, self._client, self._thread)
        try:
            self._run(self._client._connected())
        except BaseException:
            self.close()
            raise

    @classmethod
    def connect(
        cls, endpoint: str | None = None, *, options: ClientOptions | None = None
    ) -> Client:
        """The same as Client(…)."""
        return cls(endpoint, options=options)

    @property
    def endpoint(self) -> str:
        return self._client.endpoint

    @property
    def options(self) -> ClientOptions:
        return self._client.options

    @property
    def boot_id(self) -> str:
        """From the daemon's last Pong; changes with each start of the daemon."""
        return self._client.boot_id

    @property
    def daemon_version(self) -> str:
        return self._client.daemon_version

    @property
    def all_durable(self) -> bool:
        """Whether all changes that this client made so far will outlive the daemon. False while the
        daemon's disk accepts no writes: the daemon holds the changes in memory and tries again (its
        status says so)."""
        return self._client.all_durable

    def close(self) -> None:
        """Ends the connection: requests in flight fail, and the daemon cancels them. A client that
        is garbage, or left when Python exits, is closed too."""
        self._end()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Generations.

    def stream(self, request: GenerateRequest) -> Stream:
        """Starts a generation; its events come from the stream."""
        return Stream(self, self._thread, self._run(self._client.stream(request)))

    def generate(self, request: GenerateRequest) -> Final:
        """Runs a generation from its beginning to its end."""
        return self._run(self._client.generate(request))

    def generate_batch(self, requests: Sequence[GenerateRequest]) -> list[Final | CascadeError]:
        """Runs all requests at once, 256 at most, and waits for the last. Each has its own
        generation or error. If the daemon refuses a request for now (its queue is full), the
        error's retry_after_ms is > 0; nothing is tried again."""
        return self._run(self._client.generate_batch(requests))

    def cancel(self, request_id: bytes) -> None:
        """Ends a generation of this client by the request id of its stream. Error not_found if it
        has ended. (Stream.cancel() does not wait and ignores that error.)"""
        self._run(self._client.cancel(request_id))

    # Chunks.

    def put_chunk(
        self,
        type: ChunkType,
        text: str = "",
        *,
        token_ids: Sequence[int] = (),
        name: str | None = None,
        pinned: bool | None = None,
        ttl_ms: int | None = None,
        priority: int | None = None,
        priority_ms: int | None = None,
    ) -> Chunk:
        """Registers a text, or the text of token ids. The same type and text again give the same
        chunk."""
        return self._run(
            self._client.put_chunk(
                type,
                text,
                token_ids=token_ids,
                name=name,
                pinned=pinned,
                ttl_ms=ttl_ms,
                priority=priority,
                priority_ms=priority_ms,
            )
        )

    def list_chunks(
        self, type: ChunkType | None = None, *, limit: int = 1000, after: str = ""
    ) -> ChunkListReply:
        """One page of the list, newest first; texts are cut to 400 bytes."""
        return self._run(self._client.list_chunks(type, limit=limit, after=after))

    def list_all_chunks(
        self, type: ChunkType | None = None, *, count_max: int = 100_000
    ) -> list[ChunkInfo]:
        """All pages of the list, newest first, up to `count_max` chunks."""
        return self._run(self._client.list_all_chunks(type, count_max=count_max))

    def search_chunks(self, query: str, *, limit: int = 20) -> list[ChunkSearchHit]:
        """The chunks whose name, text or question contains all words of `query`, newest first."""
        return self._run(self._client.search_chunks(query, limit=limit))

    def get_chunk(self, id: str) -> Chunk:
        """`id` may be a prefix of at least 8 characters that names one chunk."""
        return self._run(self._client.get_chunk(id))

    def delete_chunk(self, id: str, *, name: str = "", all: bool = False) -> ChangedChunk:
        """Gives up one holder: the one of `name`, or a retention; with `all`, all holders. A chunk
        without holders is deleted."""
        return self._run(self._client.delete_chunk(id, name=name, all=all))

    def update_chunk(
        self,
        id: str,
        *,
        name: str | None = None,
        pinned: bool | None = None,
        ttl_ms: int | None = None,
        priority: int | None = None,
        priority_ms: int | None = None,
        published: bool | None = None,
        touch: bool = False,
    ) -> ChangedChunk:
        """Makes all of the given changes, or none. Returns the chunk as it is afterwards."""
        return self._run(
            self._client.update_chunk(
                id,
                name=name,
                pinned=pinned,
                ttl_ms=ttl_ms,
                priority=priority,
                priority_ms=priority_ms,
                published=published,
                touch=touch,
            )
        )

    def rename_chunk(self, id: str, name: str) -> ChangedChunk:
        """An empty name means that the chunk has none."""
        return self._run(self._client.rename_chunk(id, name))

    def touch_chunk(self, id: str) -> ChangedChunk:
        """Counts as a use."""
        return self._run(self._client.touch_chunk(id))

    def pin_chunk(self, id: str) -> ChangedChunk:
        """While it is pinned, its K and V are not evicted, and it does not expire."""
        return self._run(self._client.pin_chunk(id))

    def unpin_chunk(self, id: str) -> ChangedChunk:
        """With the last pin, the holders whose time is over end too; the chunk may then be
        `gone`."""
        return self._run(self._client.unpin_chunk(id))

    def set_chunk_ttl(self, id: str, ttl_ms: int) -> ChangedChunk:
        """The time counts from now on; 0 means that the chunk does not expire."""
        return self._run(self._client.set_chunk_ttl(id, ttl_ms))

    def set_chunk_priority(
        self, id: str, priority: int, duration_ms: int | None = None
    ) -> ChangedChunk:
        """`priority` is 0 to 100: pages of lower priority are evicted first. It holds for the given
        time, or permanently."""
        return self._run(self._client.set_chunk_priority(id, priority, duration_ms))

    # Sessions and policies.

    def list_sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """The most recently used session comes first."""
        return self._run(self._client.list_sessions(limit=limit))

    def get_session(self, id: str) -> SessionReply:
        return self._run(self._client.get_session(id))

    def delete_session(self, id: str, *, outputs: bool = False) -> SessionReply:
        """Returns the session as it was. With `outputs`, also deletes the outputs of its turns that
        nobody else holds."""
        return self._run(self._client.delete_session(id, outputs=outputs))

    def expiry_policies(self) -> list[ExpiryPolicy]:
        """The time to live, by type, of chunks that are registered without their own."""
        return self._run(self._client.expiry_policies())

    def set_expiry_policy(self, type: ChunkType, ttl_ms: int) -> list[ExpiryPolicy]:
        """Applies to chunks that are registered from now on; 0 means that they do not expire."""
        return self._run(self._client.set_expiry_policy(type, ttl_ms))

    # Prefixes.

    def cache_prefix(self, prefix: PrefixCache) -> PrefixReply:
        """Computes the K and V of a common beginning of later prompts, and pins them for this
        connection."""
        return self._run(self._client.cache_prefix(prefix))

    def attach_prefix(self, id: str) -> PrefixReply:
        """Adds one reference of this connection."""
        return self._run(self._client.attach_prefix(id))

    def release_prefix(self, id: str) -> PrefixReply:
        """Gives up one reference of this connection; a prefix without references is removed."""
        return self._run(self._client.release_prefix(id))

    # Tokens and prompts.

    def tokenize(self, text: str, *, beginning: bool = False) -> list[int]:
        """The ids of a text inside a prompt: special tokens in the text are not recognised. With
        `beginning`, the ids begin as a raw prompt does, with BOS."""
        return self._run(self._client.tokenize(text, beginning=beginning))

    def detokenize(
        self,
        token_ids: Sequence[int],
        *,
        skip_special: bool = False,
        pieces: bool = False,
        piece_bytes: bool = False,
        text_start: TextStart = TextStart.FIRST,
    ) -> DetokenizeReply:
        """The text of ids, without special tokens if `skip_special`. With `pieces`, also what each
        id adds to the text; with `piece_bytes`, the same in bytes."""
        return self._run(
            self._client.detokenize(
                token_ids,
                skip_special=skip_special,
                pieces=pieces,
                piece_bytes=piece_bytes,
                text_start=text_start,
            )
        )

    def apply_template(
        self,
        messages: Sequence[ChatMessage],
        *,
        thinking: bool | None = None,
        reasoning_effort: str | None = None,
        tools: str | Sequence[Mapping[str, Any]] = "",
    ) -> ApplyTemplateReply:
        """The prompt that a conversation makes, as text and as ids."""
        return self._run(
            self._client.apply_template(
                messages, thinking=thinking, reasoning_effort=reasoning_effort, tools=tools
            )
        )

    # The daemon.

    def ping(self) -> Pong:
        return self._run(self._client.ping())

    def status(self) -> StatusReply:
        return self._run(self._client.status())

    def events(self, since: int | None = None, *, boot_id: str = "") -> EventStream:
        """The events of chunks and requests of this tenant from now on; with `since`, the events
        after that number come first. `boot_id` is the boot to which `since` belongs, if that is
        known."""
        stream = self._run(self._client.events(since, boot_id=boot_id))
        return EventStream(self, self._thread, stream)

    def list_models(self) -> ModelListReply:
        """The daemon's models. A request that names a model other than the default one
        (ClientOptions.model) also loads it."""
        return self._run(self._client.list_models())

    def load_model(self, name: str) -> ModelInfo:
        """Waits until the model is loaded. Only for the tenant "local"."""
        return self._run(self._client.load_model(name))

    def estimate_model(self, name: str) -> ModelInfo:
        """Says what loading the model would take; nothing is loaded. Only for the tenant
        "local"."""
        return self._run(self._client.estimate_model(name))

    def unload_model(self, name: str) -> ModelInfo:
        """Waits until the model's memory is free; its chunks stay on disk. Only for the tenant
        "local"."""
        return self._run(self._client.unload_model(name))

    def fsck(self, *, repair: bool = False, state_dir: str = "") -> FsckReply:
        """Verifies everything on disk, and waits until that is done. A `state_dir` that is not the
        daemon's is refused."""
        return self._run(self._client.fsck(repair=repair, state_dir=state_dir))

    def backup(self, directory: str, *, state_dir: str = "") -> BackupReply:
        """Copies everything on disk to an absolute path of the daemon's machine that does not exist
        yet or is empty. Waits until that is done."""
        return self._run(self._client.backup(directory, state_dir=state_dir))

    # The methods below have the names of the earlier Python library and do the same things.

    def register_chunk(self, text: str, type: ChunkType) -> str:
        """Like put_chunk(), but returns the chunk's id."""
        return self._run(self._client.register_chunk(text, type))

    def generate_and_retain_output(
        self, system_prompt: str, query: str, params: GenerateRequest | None = None
    ) -> Final:
        """Answers `query` and keeps the answer as an output chunk. An empty `system_prompt` means
        none. `params` is a request without a prompt."""
        return self._run(self._client.generate_and_retain_output(system_prompt, query, params))

    def generate_from_chunks(
        self,
        *,
        system_chunk_id: str = "",
        context_chunk_ids: Sequence[str] = (),
        query_chunk_id: str,
        params: GenerateRequest | None = None,
    ) -> Final:
        """Composes chunks by id: contexts and outputs in order. `params` is a request without a
        prompt."""
        return self._run(
            self._client.generate_from_chunks(
                system_chunk_id=system_chunk_id,
                context_chunk_ids=context_chunk_ids,
                query_chunk_id=query_chunk_id,
                params=params,
            )
        )

    def get_retained_sequences(self) -> list[ChunkInfo]:
        """The output chunks, newest first."""
        return self._run(self._client.get_retained_sequences())

    def release_retained_sequence(self, id: str) -> None:
        """Gives up one retention of an output chunk. If nobody else holds the chunk, it is deleted,
        which frees its K and V. Error invalid_argument if `id` names another kind of chunk."""
        self._run(self._client.release_retained_sequence(id))

    def get_chunk_stats(self) -> StatsReply:
        """The space that chunks and pages take, and what the cache did."""
        return self._run(self._client.get_chunk_stats())

    def _run(self, work: Coroutine[Any, Any, _R]) -> _R:
        return self._thread.run(work)


def _close(client: AsyncClient, thread: LoopThread) -> None:
    thread.stop(client.close())
