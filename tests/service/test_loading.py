"""While the model is loaded: clients are told so and how far it is, and not that it serves."""
import http.client
import json
import pathlib
import signal
import subprocess
import tempfile
import unittest

from service import BIN, WAIT_S, Service, Stopped, wait_until
from slow_model import make_slow_model
from test_activation import tcp_socket, unix_socket


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), json.loads(response.read())
    finally:
        connection.close()


class Loading(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-service-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.bytes = make_slow_model(self.folder / "slow")

    def service(self, *options, **more):
        return Service("--state-dir", "", *options, folder=self.folder, wait=False,
                       model=self.folder / "slow", **more)

    def stop_loading(self, service):
        """Stops the thread that loads while this lasts."""
        return Stopped(service.thread("load"))

    def seen(self, service):
        """The status that a client gets from a service whose load is stopped."""
        socket = pathlib.Path(service.endpoint.removeprefix("ipc://"))

        def status():  # the socket exists before somebody listens
            done = socket.exists() and service.ctl("status", "--json", check=False)
            return done and done.returncode == 0 and json.loads(done.stdout)

        return wait_until(status, "a status")

    def test_clients_hear_how_far_it_is(self):
        with self.service("--http", "127.0.0.1:0") as service:
            shares = []
            while not shares or shares[-1]["total_bytes"] == 0:
                with self.stop_loading(service):
                    shares.append(self.seen(service))
                    self.assertEqual(shares[-1]["state"], "loading")
                    if len(shares) > 1 and shares[-1]["total_bytes"] == 0:
                        continue  # nothing has changed
                    status = service.ctl("status")
                    self.assertEqual(status.returncode, 0)
                    self.assertRegex(status.stdout, r"^loading(, [0-9]+ %)?\n$")
                    self.check_http(service, shares[-1])
                    doctor = service.ctl("doctor")
                    self.assertRegex(doctor.stdout, "hint .* is loading")
            self.assertEqual(shares[-1]["total_bytes"], self.bytes, "what is read, and no more")
            self.assertLessEqual(shares[-1]["done_bytes"], self.bytes)
            self.assertEqual(shares[-1]["percent"],
                             min(99, 100 * shares[-1]["done_bytes"] // self.bytes))
            self.assertFalse([m for m in service.manager.drain() if "READY" in m])
            service.manager.wait_for("READY", "1")
            self.assertIn("serving", service.ctl("status").stdout)
            self.assertTrue([m for m in service.manager.heard
                             if m.get("STATUS", "").startswith(f"loading {self.folder}/slow")])
            self.assertEqual(service.stop(), 0)

    def check_http(self, service, share):
        port = int(service.wait_for_log(r"HTTP at http://127\.0\.0\.1:(\d+)")[0])
        status, headers, body = get(port, "/health")
        self.assertEqual((status, body["status"]), (503, "loading"))
        self.assertEqual(body["total_bytes"], share["total_bytes"])
        self.assertEqual(headers["Retry-After"], "1")
        status, headers, body = get(port, "/v1/models")
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        self.assertEqual(body["error"]["code"], "unavailable")
        self.assertIn("it is loading", body["error"]["message"])

    def test_a_request_waits_until_it_serves(self):
        with self.service() as service:
            with self.stop_loading(service):
                self.seen(service)
                asked = service.start_ctl("generate", "--max-tokens", "1", "--raw", "Hello")
                silent = service.start_ctl("generate", "--max-tokens", "1", "--raw", "Hello",
                                           "--json")
                told = asked.stderr.readline()
                self.assertRegex(told, r"^the daemon does not serve yet: it is loading.*; waiting")
            for program in (asked, silent):
                out, errors = program.communicate(timeout=WAIT_S)
                self.assertEqual(program.returncode, 4, errors)  # an answer of one token
            self.assertIn("finish_reason", out)
            self.assertNotIn("waiting", errors)

    def test_a_stop_ends_it_at_once_and_leaves_no_socket(self):
        http = self.folder / "run/http.sock"
        with self.service("--http", f"unix:{http}", "--tenant", "alice") as service:
            with self.stop_loading(service):
                self.seen(service)
                self.assertTrue(http.exists())
                service.process.send_signal(signal.SIGTERM)
                service.wait_for_log("stopped before it served")
            self.assertEqual(service.process.wait(WAIT_S), 0)
            self.assertNotIn("failed", service.log())
            left = [path.name for path in (self.folder / "run").iterdir()]
            self.assertEqual(left, ["cascaded.lock"])
            self.assertFalse([m for m in service.manager.drain() if "READY" in m])

    def test_a_load_that_fails_ends_it_with_its_reason(self):
        (self.folder / "slow/tokenizer.json").write_text("{")
        with self.service("--http", "127.0.0.1:0") as service:
            self.assertEqual(service.process.wait(WAIT_S), 1)
            self.assertIn("tokenizer.json", service.log())
            left = [path.name for path in (self.folder / "run").iterdir()]
            self.assertEqual(left, ["cascaded.lock"])

    def test_sockets_that_are_inherited_say_so_too(self):
        http, zmq = tcp_socket(), unix_socket(self.folder / "run/cascaded.sock")
        with http, zmq, self.service(sockets=[http, zmq]) as service:
            with self.stop_loading(service):
                self.assertEqual(self.seen(service)["state"], "loading")
                self.assertEqual(get(http.getsockname()[1], "/health")[0], 503)
            service.manager.wait_for("READY", "1")
            self.assertIn("serving", service.ctl("status").stdout)

    def test_the_group_of_the_folder_may_ask_meanwhile(self):
        run = self.folder / "run"
        run.mkdir(mode=0o750)
        run.chmod(0o750)
        with self.service() as service, self.stop_loading(service):
            self.seen(service)
            self.assertEqual((run / "cascaded.sock").stat().st_mode & 0o777, 0o660)


class Addresses(unittest.TestCase):
    """An address where somebody listens already is named before anything is loaded."""

    def refused(self, *options):
        with Service(*options, wait=False) as service:
            self.assertNotEqual(service.process.wait(WAIT_S), 0)
            self.assertNotIn("loaded in", service.log())
            return service.log()

    def key(self, *arguments):
        return subprocess.run([BIN / "cascadectl", "key", *arguments], capture_output=True,
                              text=True, check=True).stdout

    def test_of_http(self):
        with tcp_socket() as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            self.assertIn(f"--http: cannot listen on {address}: Address already in use",
                          self.refused("--http", address))
        with tempfile.TemporaryDirectory() as folder, unix_socket(f"{folder}/x.sock"):
            self.assertIn(f"--http: cannot listen on unix:{folder}/x.sock: Address already in use",
                          self.refused("--http", f"unix:{folder}/x.sock"))

    def test_of_tcp(self):
        with tempfile.TemporaryDirectory() as name, tcp_socket() as taken:
            folder = pathlib.Path(name)
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            key = self.key("new", "--curve", "--file", folder / "key").strip()
            self.key("allow", "--file", folder / "clients", "--", key)
            self.assertIn(f"--tcp: cannot listen on {address}: Address already in use",
                          self.refused("--tcp", address, "--tcp-key", f"{folder}/key",
                                       "--tcp-clients", f"{folder}/clients"))

    def test_of_clients(self):
        with tempfile.TemporaryDirectory() as folder:
            with unix_socket(f"{folder}/x.sock"):
                self.assertIn(f"{folder}/x.sock: somebody listens there already",
                              self.refused("--endpoint", f"ipc://{folder}/x.sock"))


class Nothing(unittest.TestCase):
    def test_is_kept_where_that_is_wanted_and_no_warning_said(self):
        with Service("--state-dir", "") as service:
            self.assertNotIn("warning", service.log())
            self.assertNotIn("HOME", service.log())
            self.assertIn("--state-dir is empty: chunks, K and V", service.log())


if __name__ == "__main__":
    unittest.main()
