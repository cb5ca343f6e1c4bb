"""AsyncClient: what asyncio adds to the client, above all tasks that are cancelled."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import threading
import unittest
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import zmq

from cascade_llm import AsyncClient, ClientOptions, GenerateRequest, PrefixCache
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope
from cascade_llm.replies import (
    Accepted,
    Ack,
    Delta,
    ErrorInfo,
    ErrorReply,
    Miss,
    PrefixReply,
    Progress,
    SessionListReply,
)
from cascade_llm.requests import CancelRequest, DeltaCredit, SessionListRequest
from support import PATIENCE_S, PATIENT, FakeDaemon, Reply, final_of, prompt, until


class Generator:
    """Runs each generation until it is cancelled; a prompt "x" is answered at once."""

    def __init__(self) -> None:
        self.cancelled: list[bytes] = []
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self._running: dict[bytes, Reply] = {}

    def __call__(self, envelope: Envelope, reply: Reply) -> None:
        message = envelope.message
        if isinstance(message, CancelRequest):
            self.cancelled.append(message.target)
            reply(Ack())
            self._running.pop(message.target)(final_of("so far", "cancelled"))
            self.ended.release()
        elif isinstance(message, GenerateRequest) and message.prompt == "x":
            reply(final_of("x"))
        elif isinstance(message, SessionListRequest):
            reply(SessionListReply([]))
        else:
            self._running[envelope.request_id] = reply
            reply(Accepted(0))
            reply(Delta("so far", False))
            self.begun.release()


@asynccontextmanager
async def started(
    handler: Callable[[Envelope, Reply], None], options: ClientOptions | None = None
) -> AsyncIterator[tuple[FakeDaemon, AsyncClient]]:
    with FakeDaemon(handler) as daemon:
        async with AsyncClient(daemon.endpoint, options=options) as client:
            yield daemon, client


async def wait_for(semaphore: threading.Semaphore) -> bool:
    return await asyncio.to_thread(semaphore.acquire, timeout=PATIENCE_S)


class CreditTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.requests: list[object] = []

    def handle(self, envelope: Envelope, reply: Reply) -> None:
        self.requests.append(envelope.message)
        if isinstance(envelope.message, GenerateRequest):
            self.generation = reply
            for _ in range(envelope.message.delta_credit or 0):
                reply(Delta("a", False))
            if envelope.message.prompt == "at once":
                reply(final_of("a"))
            return
        reply(Ack())
        for _ in range(32):
            self.generation(Delta("a", False))
        if len(self.requests) == 3:
            self.generation(final_of("a"))

    async def test_room_is_made_for_more_text_as_it_is_read(self) -> None:
        async with started(self.handle) as (_, client):
            stream = await client.stream(prompt("x"))
            deltas = [event async for event in stream if isinstance(event, Delta)]
            self.assertEqual(len(deltas), 64 + 2 * 32)
            request, *grants = self.requests[:3]
            assert isinstance(request, GenerateRequest)
            self.assertEqual(request.delta_credit, 64)
            self.assertEqual(grants, 2 * [DeltaCredit(stream.request_id, deltas=32)])

    async def test_text_that_nobody_looks_at_comes_in_the_end(self) -> None:
        async with started(self.handle) as (_, client):
            await client.generate(prompt("at once"))
            await client.ping()  # what was sent before has arrived
            self.assertEqual([request.delta_credit for request in self.requests], [0])

    async def test_the_credit_is_left_to_who_gives_it(self) -> None:
        async with started(self.handle) as (_, client):
            stream = await client.stream(dataclasses.replace(prompt("at once"), delta_credit=100))
            await stream.result()
            await client.ping()
            self.assertEqual([request.delta_credit for request in self.requests], [100])


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_events_come_as_an_iterator(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            for event in (Accepted(1), Progress(4, 2), Delta("a", False), final_of("a")):
                reply(event)

        async with started(handle) as (_, client):
            self.assertEqual(client.boot_id, "boot_1")
            stream = await client.stream(prompt("x"))
            kinds = [type(event).__name__ async for event in stream]
            self.assertEqual(kinds, ["Accepted", "Progress", "Delta", "Final"])
            self.assertEqual((await stream.result()).text, "a")

    async def test_many_tasks_share_a_client_and_connect_once(self) -> None:
        with FakeDaemon(Generator()) as daemon:
            client = AsyncClient(daemon.endpoint)
            finals = await asyncio.gather(*(client.generate(prompt("x")) for _ in range(100)))
            self.assertEqual({final.text for final in finals}, {"x"})
            await client.close()
            with self.assertRaises(CascadeError):
                await client.generate(prompt("x"))

    async def test_a_cancelled_task_cancels_its_generation(self) -> None:
        generator = Generator()
        async with started(generator) as (_, client):
            task = asyncio.create_task(client.generate(prompt("long")))
            self.assertTrue(await wait_for(generator.begun))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertTrue(await wait_for(generator.ended))
            await client.ping()

    async def test_a_timeout_cancels_its_generation(self) -> None:
        generator = Generator()
        async with started(generator) as (_, client):
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await client.generate(prompt("long"))
            await client.generate(prompt("x"))  # behind whatever was sent before
            self.assertTrue(await wait_for(generator.ended))

    async def test_a_cancelled_task_cancels_its_prefix(self) -> None:
        begun = threading.Semaphore(0)
        cancelled = threading.Semaphore(0)

        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, CancelRequest):
                reply(Ack())
                reply.to(
                    envelope.message.target, ErrorReply(ErrorInfo("cancelled", "", "it was"), 0)
                )
                return cancelled.release()
            reply(Accepted(0))
            return begun.release()

        async with started(handle) as (_, client):
            task = asyncio.create_task(client.cache_prefix(PrefixCache(prompt="x")))
            self.assertTrue(await wait_for(begun))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertTrue(await wait_for(cancelled))

    async def test_a_prefix_comes_behind_its_progress(self) -> None:
        answer = PrefixReply("prefix_1", 64, 1, 0, 64, Miss())

        def handle(envelope: Envelope, reply: Reply) -> None:
            for event in (Accepted(0), Progress(64, 1), answer):
                reply(event)

        async with started(handle) as (_, client):
            self.assertEqual(await client.cache_prefix(PrefixCache(prompt="x")), answer)

    async def test_leaving_or_dropping_a_stream_cancels_it(self) -> None:
        generator = Generator()
        async with started(generator) as (_, client):
            async with await client.stream(prompt("long")) as stream:
                await stream.__anext__()
            self.assertTrue(await wait_for(generator.ended))
            dropped = await client.stream(prompt("long"))
            request_id = dropped.request_id
            del dropped, stream
            gc.collect()
            self.assertTrue(await wait_for(generator.ended))
            self.assertEqual(generator.cancelled[-1], request_id)

    async def test_a_loop_that_was_busy_finds_what_came_meanwhile(self) -> None:
        async with started(Generator(), PATIENT) as (_, client):
            connection = client._connection
            assert connection is not None
            connection._options = ClientOptions(timeout_ms=100, silence_ms=20, lost_ms=30)
            task = asyncio.create_task(client.generate(prompt("x")))
            await asyncio.sleep(0)
            # Longer than every limit, and than it takes to the next look at them: what has come is
            # not taken for late.
            threading.Event().wait(0.7)
            until(lambda: connection._link._arrived.getsockopt(zmq.EVENTS) & zmq.POLLIN)
            self.assertEqual((await task).text, "x")
            connection._options = PATIENT
            self.assertEqual(await client.list_sessions(), [])

    async def test_a_broken_connection_is_noticed_before_the_next_request(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            daemon.break_connections()
            broken.set()

        broken = threading.Event()
        async with started(handle) as (daemon, client):
            stream = await client.stream(prompt("x"))
            broken.wait(PATIENCE_S)  # this loop does nothing meanwhile
            with self.assertRaises(CascadeError) as failed:
                await stream.result()
            self.assertTrue(failed.exception.unreachable)
            self.assertEqual((await client.ping()).boot_id, "boot_1")

    async def test_errors_that_many_wait_for_are_not_shared(self) -> None:
        with FakeDaemon(lambda envelope, reply: None) as daemon:
            client = AsyncClient(daemon.endpoint)
            tasks = [asyncio.create_task(client.generate(prompt("y"))) for _ in range(3)]
            await client.ping()
            await client.close()
            failed = await asyncio.gather(*tasks, return_exceptions=True)
            self.assertEqual({str(error) for error in failed},
                             {"unavailable: endpoint: the client was closed"})
            self.assertEqual(len({id(error) for error in failed}), 3)

    async def test_a_second_loop_needs_its_own_client(self) -> None:
        async with started(Generator()) as (daemon, client):
            await client.ping()

            def elsewhere() -> str:
                async def use() -> str:
                    async with AsyncClient(daemon.endpoint) as other:
                        return (await other.generate(prompt("x"))).text

                return asyncio.run(use())

            self.assertEqual(await asyncio.to_thread(elsewhere), "x")

    async def test_a_stream_of_many_events_leaves_turns_to_others(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            for _ in range(2_000):
                reply(Delta("x", False))
            reply(final_of("x" * 2_000))

        async with started(handle) as (_, client):
            # As much as comes: nothing is granted, to which the daemon would answer again.
            stream = await client.stream(dataclasses.replace(prompt("y"), delta_credit=2_000))
            turns = 0

            async def count() -> None:
                nonlocal turns
                while stream.final is None:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            pieces = [event.text async for event in stream if isinstance(event, Delta)]
            await counting
            self.assertEqual("".join(pieces), "x" * 2_000)
            self.assertGreater(turns, 1)


if __name__ == "__main__":
    unittest.main()
