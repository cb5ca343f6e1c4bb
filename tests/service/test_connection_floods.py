"""Connections by the thousand, at every door: others are served, and the daemon goes on.

With CASCADE_LONG_TESTS=1 there are 3,000. CASCADE_FLOOD sets another number; 20,000 connections
need a hard limit of descriptors above that for the test."""
import contextlib
import http.client
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from service import BIN, LONG, SOURCE, WAIT_S, Service, ask, reserved_port

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402

# AddressSanitizer does not report these leaks of libzmq.
LEAKS_OF_LIBZMQ = pathlib.Path(__file__).parent / "floods.lsan"
FLOOD = int(os.environ.get("CASCADE_FLOOD", "3000" if LONG else "1200"))
ROUNDS = 20 if LONG else 3

# ZMTP 3.0, mechanism NULL: a client that greets, says what it is, and then says nothing more.
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY_BODY = (b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER" +
              b"\x08Identity" + struct.pack(">I", 0))
READY = b"\x04" + bytes([len(READY_BODY)]) + READY_BODY
# A Ping after that: frames of a header, a request id and an empty map.
PING = (b"\x01\x08" + b"CAS1\x01\x00\x00\x00" + b"\x01\x10" + bytes(16) + b"\x00\x01\x80")


class Flood:
    """Opens FLOOD connections one after the other, sends `words` on each, and keeps them open."""

    def __init__(self, address, words=b""):
        self.address = address
        self.words = words
        self.sockets = []
        self.thread = threading.Thread(target=self.run)
        self.stop = False

    def run(self):
        end = time.monotonic() + WAIT_S
        while len(self.sockets) < FLOOD and not self.stop and time.monotonic() < end:
            family = socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET
            one = socket.socket(family)
            one.settimeout(1)
            try:
                one.connect(self.address)
                if self.words:
                    one.sendall(self.words)
            except OSError:
                # The queue is full for the moment, or the connection was refused while it spoke.
                if not self.words:
                    time.sleep(0.001)
            self.sockets.append(one)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.stop = True
        self.thread.join()
        for one in self.sockets:
            one.close()


@unittest.skipUnless(resource.getrlimit(resource.RLIMIT_NOFILE)[1] > FLOOD + 500,
                     "the limit of descriptors of this process is too low")
class Floods(unittest.TestCase):
    def setUp(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        scratch = tempfile.TemporaryDirectory(prefix="cascade-service-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def key(self, *arguments):
        done = subprocess.run([BIN / "cascadectl", "key", *arguments], capture_output=True,
                              text=True, check=True)
        return done.stdout.strip()

    def start(self, descriptors):
        """Starts a service with all doors: ipc of two tenants, TCP, HTTP."""
        held, self.tcp = reserved_port()
        self.addCleanup(held.close)
        self.server_key = self.key("new", "--curve", "--file", self.folder / "server")
        public = self.key("new", "--curve", "--file", self.folder / "laptop")
        self.key("allow", public, "--tenant", "laptop", "--file", self.folder / "clients")
        service = Service("--tenant", "other", "--http", "127.0.0.1:0", "--tcp", str(self.tcp),
                          "--tcp-key", str(self.folder / "server"), "--tcp-clients",
                          str(self.folder / "clients"), folder=self.folder,
                          prefix=["prlimit", f"--nofile={descriptors}:{descriptors}"],
                          environment={"LSAN_OPTIONS": f"suppressions={LEAKS_OF_LIBZMQ}"})
        self.http = service.http_address()
        self.doors = {
            "ipc": str(self.folder / "run/cascaded.sock"),
            "events": str(self.folder / "run/cascaded.sock.events"),
            "http": self.http,
            "tcp": ("127.0.0.1", self.tcp),
        }
        return service

    def clients(self, service):
        """Connects one client at each door of ZeroMQ."""
        stack = contextlib.ExitStack()
        other = service.endpoint.replace("cascaded.sock", "tenant-other.sock")
        tcp = cascade_llm.ClientOptions(server_key=self.server_key,
                                        key_file=str(self.folder / "laptop"))
        self.local = stack.enter_context(cascade_llm.Client(service.endpoint))
        self.other = stack.enter_context(cascade_llm.Client(other))
        self.laptop = stack.enter_context(
            cascade_llm.Client(f"tcp://127.0.0.1:{self.tcp}", options=tcp))
        return stack

    def ask_http(self):
        """Asks on a new connection. Like those of the flood, it may be ended before its request has
        come, or be told to come back; clients of OpenAI try again, and so does this."""
        end = time.monotonic() + WAIT_S
        while True:
            try:
                status = ask(self.http, "GET", "/v1/models")[0]
                if status == 200:
                    return
                self.assertEqual(status, 503)
            except (http.client.HTTPException, ConnectionError):
                pass
            self.assertLess(time.monotonic(), end, "HTTP does not answer")
            time.sleep(0.05)

    def ask_all(self, service):
        """Asks with every client, and with a new one over HTTP."""
        for _ in range(ROUNDS):
            for client in (self.local, self.other, self.laptop):
                self.assertEqual(client.status().state, "serving")
            self.ask_http()
            self.assertIsNone(service.process.poll(), service.log())

    def ask_late(self, service):
        """Checks that a client that comes now finds a place, even at the same door. Clients that
        wait to be let in are refused first. This one may be among them; then it tries again."""
        end = time.monotonic() + WAIT_S
        options = cascade_llm.ClientOptions(timeout_ms=2000)
        while True:
            try:
                with cascade_llm.Client(service.endpoint, options=options) as late:
                    return self.assertEqual(late.status().state, "serving")
            except cascade_llm.CascadeError as error:
                self.assertEqual(error.code, "unavailable")
                self.assertLess(time.monotonic(), end, "no place is found")

    def check(self, descriptors, words=b"", doors=("ipc", "events", "http", "tcp")):
        with self.start(descriptors) as service, self.clients(service):
            for door in doors:
                with self.subTest(door=door, descriptors=descriptors):
                    with Flood(self.doors[door], words) as flood:
                        self.ask_all(service)
                        flood.thread.join()
                        self.ask_all(service)
                        # Clients that have greeted may keep all places until they miss a heartbeat.
                        if LONG or not words:
                            self.ask_late(service)
                    self.ask_late(service)
                    open_now = len(os.listdir(f"/proc/{service.process.pid}/fd"))
                    self.assertLess(open_now, descriptors)
            self.assertEqual(service.stop(), 0, service.log())
            self.assertNotIn("failed", service.log())

    def test_silent_connections_with_few_descriptors(self):
        self.check(256)

    def test_silent_connections_with_a_usual_limit(self):
        self.check(1024)

    def test_silent_connections_with_the_limit_of_the_unit(self):
        self.check(16_384)

    def test_clients_that_greet_and_say_no_more(self):
        self.check(256, GREETING + READY, ["ipc", "events"])

    def test_clients_that_ask_once_and_stay(self):
        self.check(256, GREETING + READY + PING, ["ipc"])

    def test_too_few_descriptors_are_an_error_that_says_so(self):
        service = Service(folder=self.folder, wait=False,
                          prefix=["prlimit", "--nofile=100:100"])
        with service:
            self.assertEqual(service.process.wait(timeout=60), 1)
            self.assertIn("open files: the limit is 100", service.log())
            self.assertIn("LimitNOFILE=", service.log())


if __name__ == "__main__":
    unittest.main()
