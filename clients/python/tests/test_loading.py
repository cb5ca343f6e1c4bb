"""Clients of a daemon that loads its model still: they wait, and say how far it is."""

from __future__ import annotations

import os
import pickle
import tempfile
import unittest
from pathlib import Path

from cascade_llm import CascadeError, Client, ClientOptions, GenerateRequest, PrivateDaemon
from cascade_llm.frames import Envelope
from cascade_llm.replies import Loading
from fake_client import ClientTest, echo
from support import DEMO_MODEL, FakeDaemon, Reply, prompt

# In the place of cascaded: loads for some questions, then serves.
PROGRAM = """#!{python}
import sys
sys.path[:0] = {path!r}
import zmq
from cascade_llm.frames import encode, peek_request_id
from cascade_llm.replies import ErrorInfo, ErrorReply, Loading, Pong
run_dir = sys.argv[sys.argv.index("--run-dir") + 1]
import os
os.makedirs(run_dir)
router = zmq.Context().socket(zmq.ROUTER)
router.bind("ipc://" + run_dir + "/cascaded.sock")
for done in range(100):
    client, *frames = router.recv_multipart()
    what = ErrorInfo("unavailable", "loading", "the daemon is loading")
    answer = ErrorReply(what, 1, loading=Loading(done, 3)) if done < 3 else Pong("boot_1", "test")
    if done == 3:
        open(os.path.join(run_dir, "served"), "w").close()
    router.send_multipart([client, *encode(peek_request_id(frames), answer)])
"""


class LoadingTest(ClientTest):
    def test_a_daemon_that_loads_is_waited_for(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt != "restart":
                return echo(envelope, reply)
            daemon.loads = [Loading(1, 10)]
            daemon.boot_id = "boot_2"
            return daemon.break_connections()

        daemon = FakeDaemon(handle)
        self.addCleanup(daemon.close)
        daemon.loads = [Loading(0, 0), Loading(3, 10), Loading(9, 10)]
        client = Client(daemon.endpoint)
        self.addCleanup(client.close)
        self.assertEqual(client.generate(prompt("x")).text, "x")
        self.assertEqual(daemon.pings, 4)
        # Also when it has been started again.
        self.assert_fails(lambda: client.generate(prompt("restart")), "unavailable", "endpoint")
        self.assertEqual(client.generate(prompt("x")).text, "x")
        self.assertEqual((daemon.pings, client.boot_id), (6, "boot_2"))

    def test_but_not_for_longer_than_the_timeout(self) -> None:
        daemon = FakeDaemon(echo)
        self.addCleanup(daemon.close)
        daemon.loads = [Loading(4, 10)] * 1_000_000
        for timeout_ms in (50, 500, 5_000):  # as long as the first answer takes here
            options = ClientOptions(timeout_ms=timeout_ms)
            with self.assertRaises(CascadeError) as failed:
                Client(daemon.endpoint, options=options)
            error = failed.exception
            if error.field == "loading":
                break
        self.assertEqual((error.code, error.field), ("unavailable", "loading"))
        self.assertIn("loading", error.message)
        self.assertEqual(error.loading, Loading(4, 10))
        self.assertTrue(error.retryable)
        self.assertFalse(error.unreachable)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(again.loading, Loading(4, 10))


class PrivateDaemonTest(unittest.TestCase):
    def test_returns_when_it_serves_and_not_when_it_listens(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "cascaded")
            path = os.environ["PYTHONPATH"].split(":")
            program.write_text(PROGRAM.format(python="/usr/bin/python3", path=path))
            program.chmod(0o755)
            daemon = PrivateDaemon(DEMO_MODEL, cascaded=program)
            try:
                socket = Path(daemon.endpoint[len("ipc://") :])
                self.assertTrue((socket.parent / "served").exists())
            finally:
                os.kill(daemon.pid, 9)
                daemon.stop()


if __name__ == "__main__":
    unittest.main()
