"""Events of a real daemon arrive, complete and in order."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path

from cascade_llm import (
    AsyncClient,
    CascadeError,
    ChunkRef,
    ChunkType,
    Client,
    EventGap,
    EventKind,
    EventNotice,
    EventStream,
    GenerateRequest,
    PrivateDaemon,
    Sampling,
    endpoint_of,
)
from support import DEMO_MODEL, PATIENCE_S

CHUNK_KINDS = (EventKind.CHUNK_STORED, EventKind.CHUNK_USED, EventKind.CHUNK_DELETED)


def following(events: EventStream) -> EventNotice:
    event = events.next(PATIENCE_S)
    assert isinstance(event, EventNotice), event
    return event


def until(events: EventStream, last: Callable[[EventNotice], bool]) -> list[EventNotice]:
    """The events up to the first that `last` is true for."""
    seen = [following(events)]
    while not last(seen[-1]):
        seen.append(following(events))
    return seen


def asking(id: str) -> GenerateRequest:
    return GenerateRequest(
        chunks=[
            ChunkRef(ChunkType.CONTEXT, id=id),
            ChunkRef(ChunkType.QUERY, text="Where is Rome?"),
        ],
        max_tokens=4,
        sampling=Sampling(temperature=0),
    )


class EventsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = PrivateDaemon(DEMO_MODEL, arguments=["--threads", "1"])
        self.addCleanup(self.daemon.stop)
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def test_what_happens_to_a_chunk_and_a_request_is_told_in_order(self) -> None:
        self.client.put_chunk(ChunkType.CONTEXT, "Before anyone listens.")
        with self.client.events() as events:
            id = self.client.put_chunk(ChunkType.CONTEXT, "Rome is in Italy.").id
            final = self.client.generate(asking(id))
            self.client.delete_chunk(id)
            seen = until(events, lambda event: event.kind == EventKind.CHUNK_DELETED)
            self.assertEqual(events.last, seen[-1].sequence)
        of_chunk = [event for event in seen if event.id == id and event.kind in CHUNK_KINDS]
        self.assertEqual([event.kind for event in of_chunk], list(CHUNK_KINDS))
        self.assertEqual(of_chunk[0].type, ChunkType.CONTEXT)
        self.assertGreater(of_chunk[0].tokens, 0)
        started, finished = (event for event in seen if event.kind.startswith("request"))
        self.assertEqual(started.kind, EventKind.REQUEST_STARTED)
        self.assertEqual(finished.kind, EventKind.REQUEST_FINISHED)
        self.assertEqual(started.id, finished.id)
        self.assertEqual(finished.tokens, len(final.token_ids))
        self.assertEqual(finished.reason, final.finish_reason)
        self.assertEqual([event.sequence for event in seen], list(range(2, 2 + len(seen))))
        self.assertEqual({event.boot_id for event in seen}, {self.client.boot_id})

    def test_a_loop_over_events_ends_when_the_stream_is_closed(self) -> None:
        events = self.client.events()
        id = self.client.register_chunk("One.", ChunkType.CONTEXT)
        seen: list[EventNotice | EventGap] = []
        first = threading.Event()

        def loop() -> None:
            for event in events:
                seen.append(event)
                first.set()

        thread = threading.Thread(target=loop)
        thread.start()
        self.assertTrue(first.wait(PATIENCE_S))
        events.close()
        thread.join(PATIENCE_S)
        self.assertFalse(thread.is_alive())
        self.assertEqual([event.id for event in seen if isinstance(event, EventNotice)], [id])
        self.assertIsNone(events.next(PATIENCE_S))

    def test_nothing_comes_while_nothing_happens(self) -> None:
        with self.client.events() as events:
            self.assertIsNone(events.next(0))
            self.assertIsNone(events.next(0.01))

    def test_who_was_away_reads_what_came_behind_the_last_number(self) -> None:
        ids = [self.client.register_chunk(f"Text {i}.", ChunkType.CONTEXT) for i in range(5)]
        with self.client.events(2, boot_id=self.client.boot_id) as events:
            seen = until(events, lambda event: event.id == ids[-1])
        told = [(event.sequence, event.id) for event in seen]
        self.assertEqual(told, list(zip((3, 4, 5), ids[2:])))

    def test_a_thousand_events_and_more_come_whole(self) -> None:
        id = self.client.register_chunk("What?", ChunkType.QUERY)
        with self.client.events() as events:
            # A full queue would refuse some.
            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                texts = [f"Number {i}." for i in range(1100)]
                list(pool.map(lambda text: self.client.put_chunk(ChunkType.CONTEXT, text), texts))
            self.client.delete_chunk(id)
            seen = until(events, lambda event: event.kind == EventKind.CHUNK_DELETED)
        self.assertEqual([event.sequence for event in seen], list(range(2, 1103)))

    def test_a_number_that_the_daemon_did_not_give_is_a_gap(self) -> None:
        id = self.client.register_chunk("Kept.", ChunkType.CONTEXT)
        for since, boot_id in ((77, ""), (1, "boot_of_another_time")):
            with self.client.events(since, boot_id=boot_id) as events:
                gap = events.next(PATIENCE_S)
                self.assertEqual(gap, EventGap(self.client.boot_id, 0))
                self.assertEqual(following(events).id, id)

    def test_asyncio_has_the_same(self) -> None:
        async def run() -> list[str]:
            kinds: list[str] = []
            async with AsyncClient(self.daemon.endpoint) as client:
                async with await client.events() as events:
                    id = await client.register_chunk("Rome is in Italy.", ChunkType.CONTEXT)
                    await client.generate(asking(id))
                    async for event in events:
                        kinds.append(event.kind)
                        if event.kind == EventKind.REQUEST_FINISHED:
                            break
                closed = await client.events()
            self.assertEqual([event async for event in closed], [])
            return kinds

        kinds = asyncio.run(run())
        self.assertEqual(kinds[0], EventKind.CHUNK_STORED)
        for kind in (EventKind.CHUNK_USED, EventKind.REQUEST_STARTED):
            self.assertIn(kind, kinds)

    def test_a_cancelled_wait_loses_nothing(self) -> None:
        async def run() -> None:
            async with AsyncClient(self.daemon.endpoint) as client:
                events = await client.events()
                waiting = asyncio.ensure_future(events.__anext__())
                await client.ping()
                waiting.cancel()
                await asyncio.wait([waiting])
                self.assertTrue(waiting.cancelled())
                id = await client.register_chunk("Kept.", ChunkType.CONTEXT)
                event = await events.__anext__()
                assert isinstance(event, EventNotice)
                self.assertEqual(event.id, id)

        asyncio.run(run())


class RestartTest(unittest.TestCase):
    def serve(self, folder: Path) -> subprocess.Popen[bytes]:
        command = [os.environ["CASCADED"], "--model", str(DEMO_MODEL), "--threads", "1"]
        command += ["--run-dir", str(folder / "run"), "--state-dir", str(folder / "state")]
        daemon = subprocess.Popen(command, stderr=subprocess.PIPE)
        self.addCleanup(self.stop, daemon)
        assert daemon.stderr is not None
        while b"serving at" not in daemon.stderr.readline():
            self.assertIsNone(daemon.poll(), "the daemon does not start")
        return daemon

    def stop(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()
        daemon.communicate(timeout=PATIENCE_S)

    def test_the_end_of_the_daemon_is_told_and_its_return_is_a_gap(self) -> None:
        scratch = tempfile.TemporaryDirectory(prefix="cascade-", dir="/tmp")
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        daemon = self.serve(folder)
        client = Client(endpoint_of(folder / "run"))
        self.addCleanup(client.close)
        events = client.events()
        client.register_chunk("Once.", ChunkType.CONTEXT)
        self.assertEqual(following(events).kind, EventKind.CHUNK_STORED)
        before = client.boot_id
        self.stop(daemon)
        with self.assertRaises(CascadeError) as gone:
            next(events)
        self.assertTrue(gone.exception.unreachable, gone.exception)
        self.serve(folder)
        gap = events.next(PATIENCE_S)
        assert isinstance(gap, EventGap)
        self.assertEqual((gap.boot_id, gap.after), (client.boot_id, 0))
        self.assertNotEqual(gap.boot_id, before)
        id = client.register_chunk("Twice.", ChunkType.CONTEXT)
        self.assertEqual(following(events).id, id)


if __name__ == "__main__":
    unittest.main()
