"""The client for asyncio."""

from __future__ import annotations

import asyncio
import dataclasses
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from .aio_daemon import DaemonCalls
from .aio_events import AsyncEventStream
from .aio_stream import DELTAS_UNDER_WAY, AsyncStream, streamed
from .chunk import ChangedChunk, Chunk, ChunkInfo
from .compose import composed, with_query
from .connection import Connection
from .endpoint import default_endpoint
from .errors import CascadeError, invalid_argument, not_expected, unreachable
from .exchange import Kind, as_reply
from .greeting import greeted
from .names import ChunkType, TextStart
from .options import ClientOptions
from .replies import (
    Ack,
    ApplyTemplateReply,
    ChunkListReply,
    ChunkReply,
    ChunkSearchHit,
    ChunkSearchReply,
    DetokenizeReply,
    EventsReply,
    ExpiryPolicy,
    Final,
    PolicyReply,
    Pong,
    PrefixReply,
    SessionInfo,
    SessionListReply,
    SessionReply,
    StatsReply,
    StatusReply,
    TokenizeReply,
)
from .requests import (
    ApplyTemplateRequest,
    CancelRequest,
    ChatMessage,
    ChunkDelete,
    ChunkGet,
    ChunkListRequest,
    ChunkPut,
    ChunkSearch,
    ChunkUpdate,
    DetokenizeRequest,
    EventsRequest,
    GenerateRequest,
    Ping,
    PolicyGet,
    PolicySet,
    PrefixAttach,
    PrefixCache,
    PrefixRelease,
    SessionDelete,
    SessionGet,
    SessionListRequest,
    StatsRequest,
    StatusRequest,
    TokenizeRequest,
)

# The most requests of one generate_batch(); the daemon's queue (64 by default) is far smaller.
BATCH_REQUESTS_MAX = 256

_R = TypeVar("_R")


class AsyncClient(DaemonCalls):
    """A connection to the daemon, for one event loop; use it from that loop's thread only. Any
    number of requests may be in flight.

        async with AsyncClient() as client:
            final = await client.generate(GenerateRequest(prompt="The capital of France"))

    Every method raises CascadeError: the daemon's own, or ``unavailable`` (field "endpoint") if the
    daemon was not reached, did not answer in time or was restarted, or if the connection broke.
    Then all requests in flight fail, and the next call connects again. Prefixes belong to the
    connection and end with it. Cancelling a task that waits for a generation cancels the
    generation."""

    def __init__(
        self, endpoint: str | None = None, *, options: ClientOptions | None = None
    ) -> None:
        """Connects at the first call. If `endpoint` is None, it is default_endpoint()."""
        self._endpoint = default_endpoint() if endpoint is None else endpoint
        self._options = options or ClientOptions()
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._boot_id = ""
        self._daemon_version = ""
        self._all_durable = True
        self._closed = False
        self._event_streams: weakref.WeakSet[AsyncEventStream] = weakref.WeakSet()

    @classmethod
    async def connect(
        cls, endpoint: str | None = None, *, options: ClientOptions | None = None
    ) -> AsyncClient:
        """A client that has exchanged a Ping with the daemon."""
        client = cls(endpoint, options=options)
        await client._connected()
        return client

    @property
    def endpoint(self) -> str:
        return self._endpoint

    @property
    def options(self) -> ClientOptions:
        return self._options

    @property
    def boot_id(self) -> str:
        """From the daemon's last Pong; changes with each start of the daemon. "": not connected."""
        return self._connection.boot_id if self._connection else self._boot_id

    @property
    def daemon_version(self) -> str:
        return self._connection.daemon_version if self._connection else self._daemon_version

    @property
    def all_durable(self) -> bool:
        """Whether all changes of this client so far will outlive the daemon. False while its disk
        accepts no writes: it holds the changes in memory and tries again (its status says so)."""
        return self._all_durable

    async def close(self) -> None:
        """Ends the connection: requests in flight fail, and the daemon cancels them."""
        self._closed = True
        for events in list(self._event_streams):
            events.end()
        if self._connection is not None:
            self._connection.lose(unreachable("the client was closed"), abandon=False)

    async def __aenter__(self) -> AsyncClient:
        await self._connected()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # Generations.

    async def stream(self, request: GenerateRequest) -> AsyncStream:
        """Starts a generation; its events come from the stream. If they are not read, the daemon
        joins text. A request.delta_credit limits the Deltas of the whole generation instead."""
        return await self._stream(request, DELTAS_UNDER_WAY)

    async def _stream(self, request: GenerateRequest, credit: int) -> AsyncStream:
        message = streamed(request, GenerateRequest)
        grants = message.delta_credit is None
        if grants:
            message = dataclasses.replace(message, delta_credit=credit)
        connection = await self._connected()
        exchange = await connection.start(message, Kind.WORK)
        return AsyncStream(connection, exchange, grants=grants and credit > 0)

    async def generate(self, request: GenerateRequest) -> Final:
        """Runs a generation from its beginning to its end."""
        stream = await self._stream(request, 0)  # the text comes once, at the end
        try:
            final = await stream.result()
        except asyncio.CancelledError:
            await stream.cancel()
            raise
        self._all_durable = self._all_durable and final.durable
        return final

    async def generate_batch(
        self, requests: Sequence[GenerateRequest]
    ) -> list[Final | CascadeError]:
        """Runs all requests at once, 256 at most, and waits for the last. Each has its own
        generation or error. If the daemon refuses a request for now (its queue is full), the
        error's retry_after_ms is > 0; nothing is tried again."""
        if len(requests) > BATCH_REQUESTS_MAX:
            raise invalid_argument(
                "requests",
                f"has {len(requests)} requests, more than the limit of {BATCH_REQUESTS_MAX}",
            )
        ended = await asyncio.gather(*map(self._generate_or_error, requests))
        return list(ended)

    async def cancel(self, request_id: bytes) -> None:
        """Ends a generation of this client by the request id of its stream. Error not_found if it
        has ended. (AsyncStream.cancel() does not wait and ignores that error.)"""
        await self._call(Ack, CancelRequest(request_id))

    # Chunks.

    async def put_chunk(
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
        """Registers a text, or that of token ids. The same type and text give the same chunk."""
        put = ChunkPut(
            type, text, list(token_ids), name, pinned, ttl_ms, priority, priority_ms
        )
        return await self._chunk(put)

    async def list_chunks(
        self, type: ChunkType | None = None, *, limit: int = 1000, after: str = ""
    ) -> ChunkListReply:
        """One page of the list, newest first; texts are cut to 400 bytes."""
        return await self._call(ChunkListReply, ChunkListRequest(type, limit, after))

    async def list_all_chunks(
        self, type: ChunkType | None = None, *, count_max: int = 100_000
    ) -> list[ChunkInfo]:
        """All pages of the list, newest first, up to `count_max` chunks."""
        found: list[ChunkInfo] = []
        more = True
        while more and len(found) < count_max:
            after = found[-1].chunk.id if found else ""
            limit = min(1000, count_max - len(found))
            page = await self.list_chunks(type, limit=limit, after=after)
            found += page.infos()
            more = page.more and bool(page.chunks)
        return found

    async def search_chunks(self, query: str, *, limit: int = 20) -> list[ChunkSearchHit]:
        """The chunks whose name, text or question contains all words of `query`, newest first."""
        return (await self._call(ChunkSearchReply, ChunkSearch(query, limit))).hits

    async def get_chunk(self, id: str) -> Chunk:
        """`id` may be a prefix of at least 8 characters that names one chunk."""
        return await self._chunk(ChunkGet(id))

    async def delete_chunk(self, id: str, *, name: str = "", all: bool = False) -> ChangedChunk:
        """Gives up a holder: `name`'s, a retention, or all. A chunk without holders is deleted."""
        return await self._changed(ChunkDelete(id, name, all or None))

    async def update_chunk(
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
        return await self._changed(
            ChunkUpdate(id, name, pinned, ttl_ms, priority, priority_ms, published, touch)
        )

    async def rename_chunk(self, id: str, name: str) -> ChangedChunk:
        """An empty name means that the chunk has none."""
        return await self.update_chunk(id, name=name)

    async def touch_chunk(self, id: str) -> ChangedChunk:
        """Counts as a use."""
        return await self.update_chunk(id, touch=True)

    async def pin_chunk(self, id: str) -> ChangedChunk:
        """While it is pinned, its K and V are not evicted, and it does not expire."""
        return await self.update_chunk(id, pinned=True)

    async def unpin_chunk(self, id: str) -> ChangedChunk:
        """Undoing the last pin also ends holders whose time is over; the chunk may be `gone`."""
        return await self.update_chunk(id, pinned=False)

    async def set_chunk_ttl(self, id: str, ttl_ms: int) -> ChangedChunk:
        """The time counts from now on; 0 means that the chunk does not expire."""
        return await self.update_chunk(id, ttl_ms=ttl_ms)

    async def set_chunk_priority(
        self, id: str, priority: int, duration_ms: int | None = None
    ) -> ChangedChunk:
        """0 to 100; pages with lower ones are evicted first. For that time, or permanently."""
        return await self.update_chunk(id, priority=priority, priority_ms=duration_ms)

    # Sessions and policies.

    async def list_sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """The most recently used session comes first."""
        return (await self._call(SessionListReply, SessionListRequest(limit))).sessions

    async def get_session(self, id: str) -> SessionReply:
        return await self._call(SessionReply, SessionGet(id))

    async def delete_session(self, id: str, *, outputs: bool = False) -> SessionReply:
        """The session as it was. With `outputs`, deletes its outputs that nobody else holds."""
        return self._noted(await self._call(SessionReply, SessionDelete(id, outputs)))

    async def expiry_policies(self) -> list[ExpiryPolicy]:
        """The time to live, by type, of chunks that are registered without their own."""
        return (await self._call(PolicyReply, PolicyGet())).policies

    async def set_expiry_policy(self, type: ChunkType, ttl_ms: int) -> list[ExpiryPolicy]:
        """Applies to chunks that are registered from now on; 0 means that they do not expire."""
        return self._noted(await self._call(PolicyReply, PolicySet(type, ttl_ms))).policies

    # Prefixes.

    async def cache_prefix(self, prefix: PrefixCache) -> PrefixReply:
        """Computes K and V of a beginning of later prompts, and pins them for this connection."""
        message = streamed(prefix, PrefixCache)
        connection = await self._connected()
        exchange = await connection.start(message, Kind.WORK)
        try:
            while True:
                reply = await exchange.next()
                if isinstance(reply, PrefixReply):
                    return reply
                if isinstance(reply, Final):
                    raise not_expected(reply)
        except asyncio.CancelledError:
            await connection.cancel(exchange)
            raise

    async def attach_prefix(self, id: str) -> PrefixReply:
        """Adds one reference of this connection."""
        return await self._call(PrefixReply, PrefixAttach(id))

    async def release_prefix(self, id: str) -> PrefixReply:
        """Gives up one reference of this connection; a prefix without references is removed."""
        return await self._call(PrefixReply, PrefixRelease(id))

    # Tokens and prompts.

    async def tokenize(self, text: str, *, beginning: bool = False) -> list[int]:
        """The ids of a text in a prompt, as plain text; `beginning`: in a raw prompt, with BOS."""
        return (await self._call(TokenizeReply, TokenizeRequest(text, beginning))).token_ids

    async def detokenize(
        self,
        token_ids: Sequence[int],
        *,
        skip_special: bool = False,
        pieces: bool = False,
        piece_bytes: bool = False,
        text_start: TextStart = TextStart.FIRST,
    ) -> DetokenizeReply:
        """The text of ids; with `pieces` and `piece_bytes` also what each id adds to it."""
        request = DetokenizeRequest(list(token_ids), skip_special, pieces, piece_bytes, text_start)
        return await self._call(DetokenizeReply, request)

    async def apply_template(
        self,
        messages: Sequence[ChatMessage],
        *,
        thinking: bool | None = None,
        reasoning_effort: str | None = None,
        tools: str | Sequence[Mapping[str, Any]] = "",
    ) -> ApplyTemplateReply:
        """The prompt that a conversation makes, as text and as ids."""
        request = ApplyTemplateRequest(list(messages), thinking, tools, None, reasoning_effort)
        return await self._call(ApplyTemplateReply, request)

    # The daemon.

    async def ping(self) -> Pong:
        connection = await self._connected()
        pong = as_reply(Pong, await connection.call(Ping()))
        try:
            connection.learn(pong)
        except CascadeError as error:
            connection.lose(error)
            raise
        return pong

    async def status(self) -> StatusReply:
        return await self._call(StatusReply, StatusRequest())

    async def events(self, since: int | None = None, *, boot_id: str = "") -> AsyncEventStream:
        """The events of this tenant's chunks and requests from now on; with `since`, those after
        that number come first. `boot_id` is the boot to which `since` belongs, if that is known."""
        events = AsyncEventStream(self._endpoint, self._events_behind)
        self._event_streams.add(events)
        await events.begin(since, boot_id)
        return events

    # The methods below have the names of the earlier Python library and do the same things.

    async def register_chunk(self, text: str, type: ChunkType) -> str:
        """Like put_chunk(), but returns the chunk's id."""
        return (await self.put_chunk(type, text)).id

    async def generate_and_retain_output(
        self, system_prompt: str, query: str, params: GenerateRequest | None = None
    ) -> Final:
        """Answers `query` and keeps the answer as an output chunk. An empty `system_prompt` means
        none. `params` is a request without a prompt."""
        return await self.generate(with_query(params, system_prompt, query))

    async def generate_from_chunks(
        self,
        *,
        system_chunk_id: str = "",
        context_chunk_ids: Sequence[str] = (),
        query_chunk_id: str,
        params: GenerateRequest | None = None,
    ) -> Final:
        """Composes chunks by id: contexts and outputs in order. `params` is a request without a
        prompt."""
        return await self.generate(
            composed(params, system_chunk_id, context_chunk_ids, query_chunk_id)
        )

    async def get_retained_sequences(self) -> list[ChunkInfo]:
        """The output chunks, newest first."""
        return await self.list_all_chunks(ChunkType.OUTPUT)

    async def release_retained_sequence(self, id: str) -> None:
        """Gives up one retention of an output chunk. If nobody else holds the chunk, it is deleted,
        which frees its K and V. Error invalid_argument if `id` names another kind of chunk."""
        chunk = await self.get_chunk(id)
        if chunk.type != ChunkType.OUTPUT:
            raise invalid_argument("id", f"names no output but a {chunk.type}: {chunk.id}")
        await self.delete_chunk(chunk.id)

    async def get_chunk_stats(self) -> StatsReply:
        """The space that chunks and pages take, and what the cache did."""
        return await self._call(StatsReply, StatsRequest())

    # How these methods work.

    async def _connected(self) -> Connection:
        """A connection on which the daemon has answered. If the connection broke since the
        last call, this notices it before a request is lost on it."""
        if self._connection is not None:
            self._connection.look()
        async with self._connecting:
            if self._closed:
                raise unreachable("the client was closed")
            if self._connection is None or self._connection.lost is not None:
                self._connection = None
                self._connection = await self._open()
            if self._closed:
                await self.close()
            return self._connection

    async def _open(self) -> Connection:
        connection = Connection(self._endpoint, self._options)
        try:
            pong = await greeted(connection, self._options.timeout_ms)
            if not isinstance(pong, Pong):
                raise unreachable("the program that listens there is not a Cascade daemon")
            connection.learn(pong)
        except BaseException as error:
            lost = error if isinstance(error, CascadeError) else unreachable("not connected")
            connection.lose(lost)
            raise
        self._boot_id, self._daemon_version = pong.boot_id, pong.version
        return connection

    async def _call(self, reply: type[_R], request: object, kind: Kind = Kind.CALL) -> _R:
        connection = await self._connected()
        if self._options.model:
            kind = Kind.SLOW_CALL  # the model may have to be loaded first
        return as_reply(reply, await connection.call(request, kind))

    async def _events_behind(self, request: EventsRequest) -> EventsReply:
        return await self._call(EventsReply, request)

    async def _chunk(self, request: object) -> Chunk:
        return self._noted(await self._call(ChunkReply, request)).chunk

    async def _changed(self, request: object) -> ChangedChunk:
        reply = self._noted(await self._call(ChunkReply, request))
        # Older daemons say only by the chunk's holders whether it was deleted.
        gone = bool(reply.gone) or not reply.chunk.holders
        return ChangedChunk(**vars(reply.chunk), ended=reply.ended, gone=gone)

    def _noted(self, reply: _R) -> _R:
        """Remembers whether a change is durable."""
        self._all_durable = self._all_durable and bool(getattr(reply, "durable", True))
        return reply

    async def _generate_or_error(self, request: GenerateRequest) -> Final | CascadeError:
        try:
            return await self.generate(request)
        except CascadeError as error:
            return error
