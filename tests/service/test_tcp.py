"""ZeroMQ over TCP: a client with a key is served as the key's tenant; nobody else gets in."""
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

import zmq
import zmq.auth

from service import BIN, SOURCE, WAIT_S, Service, reserved_port

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402


def key(*arguments, check=True):
    return subprocess.run([BIN / "cascadectl", "key", *arguments], capture_output=True, text=True,
                          check=check)


class Tcp(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-service-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.clients = self.folder / "clients"
        self.server_key = self.new("server")
        held, port = reserved_port()
        self.addCleanup(held.close)
        self.address = ("127.0.0.1", port)
        self.endpoint = f"tcp://127.0.0.1:{port}"
        self.options = ["--tcp", str(port), "--tcp-key", str(self.folder / "server"),
                        "--tcp-clients", str(self.clients)]

    def new(self, name):
        return key("new", "--curve", "--file", self.folder / name).stdout.strip()

    def allow(self, name, tenant):
        public = self.new(name)
        key("allow", public, "--tenant", tenant, "--file", self.clients)
        return public

    def client(self, name, server_key=None, **options):
        return cascade_llm.Client(self.endpoint, options=cascade_llm.ClientOptions(
            server_key=server_key or self.server_key, key_file=str(self.folder / name), **options))

    def test_keys_are_tenants(self):
        self.allow("alice", "alice")
        self.allow("bob", "bob")
        with Service(*self.options, folder=self.folder):
            with self.client("alice") as alice, self.client("bob") as bob:
                chunk = alice.put_chunk("CONTEXT", "of alice")
                self.assertEqual([c.id for c in alice.list_chunks().chunks], [chunk.id])
                self.assertEqual(bob.list_chunks().chunks, [])
                with self.assertRaises(cascade_llm.CascadeError) as refused:
                    bob.get_chunk(chunk.id)
                self.assertEqual(refused.exception.code, "not_found")

    def test_cascadectl_streams_an_answer(self):
        self.allow("laptop", "local")
        with Service(*self.options, folder=self.folder) as service:
            service.endpoint = self.endpoint
            env = dict(os.environ, CASCADE_SERVER_KEY=self.server_key,
                       CASCADE_KEY_FILE=str(self.folder / "laptop"))
            out = service.ctl("generate", "--temperature", "0", "What is the capital of France?",
                              env=env).stdout
            self.assertIn("Paris", out)
            without = service.ctl("status", check=False)
            self.assertIn("CASCADE_SERVER_KEY", without.stderr)

    def test_events_come_too(self):
        self.allow("friend", "local")
        with Service(*self.options, folder=self.folder), self.client("friend") as client:
            with client.events() as events:
                chunk = client.put_chunk("CONTEXT", "something happens")
                self.assertEqual(next(events).id, chunk.id)

    def test_strangers_do_not_get_in(self):
        self.allow("friend", "local")
        self.new("stranger")
        with Service(*self.options, folder=self.folder):
            with self.assertRaisesRegex(cascade_llm.CascadeError, "does not know this client"):
                self.client("stranger")
            with self.assertRaises(cascade_llm.CascadeError):  # not the intended daemon
                self.client("friend", server_key=self.new("other"), timeout_ms=500)
            self.assertLessEqual(self.heard_without_a_key(), self.GREETING_BYTES)
            self.client("friend").close()

    GREETING_BYTES = 64  # each side's in ZMTP 3.0: signature, version, mechanism

    def heard_without_a_key(self):
        """The number of bytes that a client without encryption gets before the daemon hangs up."""
        with socket.create_connection(self.address, WAIT_S) as plain:
            plain.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(52, b"\0"))
            heard = 0
            with contextlib.suppress(ConnectionResetError):
                while piece := plain.recv(4096):
                    heard += len(piece)
            return heard

    def test_a_revoked_key_is_refused_also_on_connections_that_stand(self):
        kept, gone = self.allow("kept", "local"), self.allow("gone", "local")
        with Service(*self.options, folder=self.folder, config="") as service:
            with self.client("kept") as stays, self.client("gone") as client:
                client.status()
                key("revoke", gone, "--file", self.clients)
                service.process.send_signal(1)  # SIGHUP
                service.wait_for_log("reloaded")
                with self.assertRaisesRegex(cascade_llm.CascadeError, "revoked"):
                    client.status()
                stays.status()
            with self.assertRaisesRegex(cascade_llm.CascadeError, "does not know"):
                self.client("gone")
        self.assertNotEqual(key("revoke", gone, "--file", self.clients, check=False).returncode, 0)
        self.assertIn(kept, self.clients.read_text())

    def test_a_tenant_that_is_new_is_served_after_a_reload(self):
        self.allow("friend", "local")
        with Service(*self.options, folder=self.folder, config="") as service:
            with self.client("friend") as friend:
                theirs = friend.put_chunk("CONTEXT", "of the friend")
                self.allow("late", "eve")
                service.process.send_signal(1)  # SIGHUP
                service.wait_for_log("reloaded")
                with self.client("late") as late:
                    own = late.put_chunk("CONTEXT", "of somebody who is new")
                    self.assertEqual([c.id for c in late.list_chunks().chunks], [own.id])
                    answer = late.generate_and_retain_output(
                        "", "What is the capital of France?",
                        cascade_llm.GenerateRequest(sampling=cascade_llm.Sampling(temperature=0)))
                    self.assertIn("Paris", answer.text)
                self.assertEqual([c.id for c in friend.list_chunks().chunks], [theirs.id])
            self.assertEqual(service.stop(), 0)

    def test_the_last_key_can_be_revoked(self):
        last = self.allow("last", "local")
        with Service(*self.options, folder=self.folder, config="") as service:
            with self.client("last") as client:
                client.status()
                key("revoke", last, "--file", self.clients)
                service.process.send_signal(1)  # SIGHUP
                service.wait_for_log("nobody may use TCP")
                service.wait_for_log("reloaded")
                with self.assertRaisesRegex(cascade_llm.CascadeError, "revoked"):
                    client.status()

    def test_clients_may_not_choose_their_names(self):
        self.allow("friend", "local")
        public, secret = zmq.auth.load_certificate(self.folder / "friend")
        with Service(*self.options, folder=self.folder):
            context = zmq.Context()
            dealer = context.socket(zmq.DEALER)
            dealer.linger = 0
            dealer.routing_id = b"another"
            dealer.curve_serverkey = self.server_key.encode()
            dealer.curve_publickey, dealer.curve_secretkey = public, secret
            dealer.connect(self.endpoint)
            dealer.send(b"")
            self.assertEqual(dealer.poll(WAIT_S * 1000), zmq.POLLIN)
            self.assertIn(b"routing_id", b"".join(dealer.recv_multipart()))
            dealer.close()
            context.term()

    def test_settings_that_do_not_fit_are_named(self):
        def why(*options):
            with Service(*options, folder=self.folder, wait=False) as service:
                self.assertEqual(service.process.wait(WAIT_S), 2)
                return service.log()

        self.allow("friend", "local")
        self.assertIn("needs --tcp-key", why("--tcp", "1"))
        self.assertIn("--tcp-key", why("--tcp-key", str(self.folder / "server")))
        self.assertIn("--tcp", why(*self.options[2:], "--tcp", "nonsense"))
        (self.folder / "server").chmod(0o644)
        self.assertIn("chmod 600", why(*self.options))
        (self.folder / "server").chmod(0o600)
        self.clients.write_text("local nonsense\n")
        self.assertIn("line 1", why(*self.options))
        self.clients.write_text("")
        self.assertIn("no client", why(*self.options))


if __name__ == "__main__":
    unittest.main()
