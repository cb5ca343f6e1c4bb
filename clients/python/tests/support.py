"""What several tests need: paths, vectors, a daemon that answers what a test says, a real one."""

from __future__ import annotations

import os
import random
import struct
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path

import zmq

from cascade_llm import ClientOptions, GenerateRequest, PrivateDaemon, Timings, Usage
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope, decode, encode, peek_request_id
from cascade_llm.replies import ErrorInfo, ErrorReply, Final, Loading, Pong
from cascade_llm.requests import Ping

ROOT = Path(__file__).resolve().parents[3]
DEMO_MODEL = ROOT / "models" / "demo"
VECTORS = ROOT / "tests" / "vectors"

# Programs that tests start, wherever they run, find the package and the daemon as well.
os.environ["PYTHONPATH"] = str(ROOT / "clients" / "python")
if "CASCADED" in os.environ:
    os.environ["CASCADED"] = os.path.abspath(os.environ["CASCADED"])

# Long enough for a machine that does much else; a test that waits this long has failed.
PATIENCE_S = 60
PATIENT = ClientOptions(timeout_ms=60_000, silence_ms=60_000, lost_ms=60_000)


def new_seed() -> int:
    """Of a random test: $CASCADE_TEST_SEED, or a new one; printed."""
    seed = int(os.environ.get("CASCADE_TEST_SEED", 0)) or random.SystemRandom().getrandbits(32)
    print(f"CASCADE_TEST_SEED={seed}", flush=True)
    return seed


def until(condition: Callable[[], object]) -> None:
    """Waits for it."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"it did not come within {PATIENCE_S} s")
        time.sleep(0.01)


def vector_frames(path: Path) -> list[bytes]:
    """Each frame as a 32-bit little-endian length and its bytes."""
    data, frames, at = path.read_bytes(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        frames.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return frames


def final_of(text: str, finish_reason: str = "stop", **more: object) -> Final:
    usage = Usage(
        prompt_tokens=1,
        reused_tokens=0,
        prefilled_tokens=1,
        completion_tokens=1,
        reasoning_tokens=0,
    )
    fields: dict[str, object] = {
        "text": text,
        "reasoning": "",
        "finish_reason": finish_reason,
        "usage": usage,
        "timings": Timings(0, 0, 0, 0, 0),
        "seed": 1,
        "output_chunk_id": "",
    }
    return Final(**{**fields, **more})  # type: ignore[arg-type]


def prompt(text: str) -> GenerateRequest:
    return GenerateRequest(prompt=text)


class Reply:
    """Answers the client that asked."""

    def __init__(self, daemon: FakeDaemon, client: bytes, request_id: bytes) -> None:
        self._daemon = daemon
        self._client = client
        self.request_id = request_id

    def __call__(self, message: object) -> None:
        self.to(self.request_id, message)

    def to(self, request_id: bytes, message: object) -> None:
        """Answers an earlier request of the same client."""
        self.frames(encode(request_id, message))

    def frames(self, frames: list[bytes]) -> None:
        self._daemon.send(self._client, frames)


Handler = Callable[[Envelope, Reply], None]


class FakeDaemon:
    """A ROUTER in a folder of its own. `handler` is called on its thread for every message but
    Ping."""

    def __init__(self, handler: Handler) -> None:
        self.boot_id = "boot_1"
        self.answers_pings = True
        self.loads: list[Loading] = []  # what the next Pings are answered with
        self.pings = 0
        self.received: list[object] = []
        self._handler = handler
        self._failure: Exception | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="cascade-", dir="/tmp")
        self.endpoint = f"ipc://{self._folder.name}/cascaded.sock"
        self._context = zmq.Context()
        # A socket is used by one thread: others ask the daemon's thread to send, or to stop.
        self._others = threading.Lock()
        self._asked = self._context.socket(zmq.PAIR)
        self._asked.bind("inproc://asked")
        self._router = self._listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> FakeDaemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Its connections break."""
        if self._context.closed:
            return
        with self._others:
            self._asked.send_multipart([b"stop"])
        self._thread.join()
        self._context.destroy(linger=0)
        self._folder.cleanup()
        if self._failure is not None:
            raise self._failure

    def send(self, client: bytes, frames: list[bytes]) -> None:
        if threading.current_thread() is self._thread:
            self._router.send_multipart([client, *frames])
            return
        with self._others:
            self._asked.send_multipart([b"send", client, *frames])

    def break_connections(self, linger_ms: int = 0) -> None:
        """On its own thread: all clients are disconnected, after so long at most what was sent to
        them has left; new ones may come."""
        self._router.close(linger=linger_ms)
        self._router = self._listen()

    def _listen(self) -> zmq.Socket[bytes]:
        router = self._context.socket(zmq.ROUTER)
        # A ROUTER drops what a client is too slow to read; the daemon keeps it.
        router.setsockopt(zmq.SNDHWM, 0)
        router.bind(self.endpoint)
        return router

    def _serve(self) -> None:
        with self._context.socket(zmq.PAIR) as asked:
            asked.connect("inproc://asked")
            try:
                while self._serve_one(asked):
                    pass
            except Exception as failure:
                self._failure = failure
            self._router.close(linger=0)

    def _serve_one(self, asked: zmq.Socket[bytes]) -> bool:
        """Waits for a message. False: the daemon is to stop."""
        poller = zmq.Poller()
        poller.register(self._router, zmq.POLLIN)
        poller.register(asked, zmq.POLLIN)
        ready = dict(poller.poll())
        if asked in ready:
            what, *frames = asked.recv_multipart()
            if what == b"stop":
                return False
            self._router.send_multipart(frames)
        if self._router in ready:
            self._answer(*self._router.recv_multipart())
        return True

    def _answer(self, client: bytes, *frames: bytes) -> None:
        reply = Reply(self, client, peek_request_id(frames))
        try:
            envelope = decode(frames)
        except CascadeError as error:
            reply(ErrorReply(ErrorInfo(str(error.code), error.field, error.message), 0))
            return
        if isinstance(envelope.message, Ping):
            self.pings += 1
            if self.loads:
                what = ErrorInfo("unavailable", "loading", "the daemon is loading")
                reply(ErrorReply(what, 1, loading=self.loads.pop(0)))
            elif self.answers_pings:
                reply(Pong(self.boot_id, "test"))
            return
        self.received.append(envelope.message)
        self._handler(envelope, reply)


class DaemonTest(unittest.TestCase):
    """Tests that share a real daemon with the demo model; $CASCADED names the program."""

    daemon: PrivateDaemon

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = PrivateDaemon(DEMO_MODEL, arguments=["--threads", "1", "--tenant", "guest"])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.daemon.stop()
