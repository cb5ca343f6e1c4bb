"""Clients that go away, are slow, or come in crowds."""
import http.client
import json
import socket
import time
import unittest

from daemon import LONG, WAIT_S, Daemon, question

CROWD = 1000 if LONG else 200
ROUNDS = 60 if LONG else 4


def endless(**more):
    return question("Tell me a story.", max_tokens=16_000, ignore_eos=True, **more)


class Misbehaving(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()

    def tearDown(self):
        self.daemon.__exit__()

    def wait_for(self, name, value, daemon=None):
        """Waits until the metric has the value."""
        line = f"\n{name} {value}\n"
        end = time.monotonic() + WAIT_S
        while line not in (daemon or self.daemon).get("/metrics").text:
            self.assertLess(time.monotonic(), end, f"not in the metrics: {line}")
            time.sleep(0.01)

    def connect(self, daemon=None):
        port = (daemon or self.daemon).port
        return socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)

    def begin(self, body, daemon=None):
        data = json.dumps(body).encode()
        connection = self.connect(daemon)
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(data) + data)
        return connection

    def test_a_client_that_goes_away_cancels(self):
        for stream in (False, True):
            connection = self.begin(endless(stream=stream))
            self.wait_for("cascaded_requests_running", 1)
            connection.close()
            self.wait_for("cascaded_requests_running", 0)
        self.wait_for('cascaded_requests_total{code="cancelled",finish_reason=""}', 2)

    def test_a_client_that_has_sent_more_and_goes_away_cancels(self):
        connection = self.begin(endless())
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        self.wait_for("cascaded_requests_running", 1)
        connection.close()
        self.wait_for("cascaded_requests_running", 0)

    def others_are_answered(self):
        """Makes short requests on a connection that is kept."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=WAIT_S)
        for _ in range(ROUNDS):
            connection.request("POST", "/v1/chat/completions", json.dumps(question()))
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()[:1]), (200, b"{"))
        connection.close()

    def test_crowds_of_slow_clients_do_not_stop_others(self):
        """docs/HTTP.md has measurements of how long others take then."""
        attacks = {
            "nothing": b"",
            "slow heads": b"POST /v1/chat/completions HTTP/1.1\r\nHost: local",
            "slow bodies": b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: 1000000\r\n\r\n{",
        }
        for name, data in attacks.items():
            with self.subTest(name):
                crowd = [self.connect() for _ in range(CROWD)]
                for connection in crowd:
                    connection.sendall(data)
                self.others_are_answered()
                for connection in crowd:
                    connection.close()

    def test_slow_readers_do_not_stop_others(self):
        readers = [self.begin(question("Hello", stream=True)) for _ in range(32)]
        self.others_are_answered()
        for connection in readers:
            answer = b""
            while b"[DONE]" not in answer:
                more = connection.recv(100)
                self.assertTrue(more)
                answer += more
            connection.close()

    def test_a_full_queue_is_refused_with_a_time_to_try_again(self):
        with Daemon("--max-waiting", "1", "--max-running", "1") as small:
            held = [self.begin(endless(), small)]
            self.wait_for("cascaded_requests_running", 1, small)
            held.append(self.begin(endless(), small))
            self.wait_for("cascaded_requests_waiting", 1, small)
            for _ in range(8):
                answer = small.post("/v1/chat/completions", question())
                self.assertEqual((answer.status, answer.error["code"]), (503, "resource_exhausted"))
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
            for connection in held:
                connection.close()
            for name in ("cascaded_requests_waiting", "cascaded_requests_running"):
                self.wait_for(name, 0, small)
            answer = small.post("/v1/chat/completions", question())
            self.assertEqual(answer.status, 200, answer.text)


if __name__ == "__main__":
    unittest.main()
