"""Socket activation: HTTP and ZeroMQ on sockets that the service manager has bound."""
import os
import pathlib
import socket
import tempfile
import unittest

from service import Service, ask


def unix_socket(path, mode=0o660):
    made = socket.socket(socket.AF_UNIX)
    pathlib.Path(path).parent.mkdir(mode=0o750, exist_ok=True)
    made.bind(str(path))
    os.chmod(path, mode)
    made.listen(64)
    return made


def tcp_socket(address="127.0.0.1"):
    made = socket.socket(socket.AF_INET)
    made.bind((address, 0))
    made.listen(64)
    return made


class Activation(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="cascade-service-")
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.path = self.folder / "run/cascaded.sock"

    def test_http_and_zeromq_serve_on_inherited_sockets(self):
        http, zmq = tcp_socket(), unix_socket(self.path)
        before = os.stat(self.path)
        with http, zmq, Service(sockets=[http, zmq], folder=self.folder) as service:
            self.assertIn("Paris", service.ctl("generate", "--temperature", "0",
                                               "What is the capital of France?").stdout)
            self.assertEqual(ask(http.getsockname(), "GET", "/v1/models")[0], 200)
            self.assertEqual(service.stop(), 0)
            # The socket belongs to the manager: another start finds it as it was.
            after = os.stat(self.path)
            self.assertEqual((before.st_ino, before.st_mode), (after.st_ino, after.st_mode))
        with Service(sockets=[zmq := unix_again(self.path)], folder=self.folder) as service:
            self.assertEqual(service.ctl("status").returncode, 0)
        zmq.close()

    def test_a_client_that_connects_before_the_start_is_served(self):
        http, zmq = tcp_socket(), unix_socket(self.path)
        with http, zmq, socket.create_connection(http.getsockname()) as early:
            early.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with Service(sockets=[zmq, http], folder=self.folder):
                early.settimeout(60)
                self.assertTrue(early.recv(100).startswith(b"HTTP/1.1 "))

    def test_tenants_have_sockets_of_their_own(self):
        alice = unix_socket(self.folder / "run/tenant-alice.sock")
        with alice, Service("--tenant", "alice", sockets=[alice], folder=self.folder) as service:
            service.ctl("chunk", "put", "of local")
            own = service.ctl("chunk", "list").stdout
            service.endpoint = f"ipc://{self.folder}/run/tenant-alice.sock"
            self.assertIn("of local", own)
            self.assertNotIn("of local", service.ctl("chunk", "list").stdout)

    def test_http_for_other_machines_needs_keys(self):
        http = tcp_socket("0.0.0.0")
        with http, Service(sockets=[http], folder=self.folder, wait=False) as service:
            self.assertEqual(service.process.wait(60), 2)
            self.assertIn("--http-keys", service.log())

    def test_what_is_no_listening_socket_is_refused_by_name(self):
        plain, listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), tcp_socket()
        for wrong, words in (([plain], "not a listening stream socket"),
                             ([listening, tcp_socket()], "only one is allowed")):
            with Service(sockets=wrong, folder=self.folder, wait=False) as service:
                self.assertEqual(service.process.wait(60), 1)
                self.assertIn("LISTEN_FDS", service.log())
                self.assertIn(words, service.log())


def unix_again(path):
    """Binds the socket again, as a restarted manager does."""
    os.unlink(path)
    return unix_socket(path)


if __name__ == "__main__":
    unittest.main()
