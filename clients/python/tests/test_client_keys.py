"""Keys of tcp endpoints: from options, from the environment, and what is wrong with them."""
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import zmq.auth

from cascade_llm import CascadeError, ClientOptions
from cascade_llm.client_keys import client_keys

TCP = "tcp://127.0.0.1:1"


class ClientKeys(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-keys-")
        self.addCleanup(scratch.cleanup)
        public, secret = zmq.auth.create_certificates(scratch.name, "own")
        self.public, self.file = zmq.auth.load_certificate(public)[0], secret
        self.public_file = public
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("CASCADE_SERVER_KEY", None)
        os.environ.pop("CASCADE_KEY_FILE", None)

    def options(self, **changes):
        given = {"server_key": self.public.decode(), "key_file": self.file} | changes
        return ClientOptions(**given)

    def refused(self, options):
        with self.assertRaises(CascadeError) as refused:
            client_keys(TCP, options)
        return refused.exception.field

    def test_other_endpoints_need_none(self):
        self.assertIsNone(client_keys("ipc:///run/x.sock", ClientOptions()))

    def test_options_come_before_the_environment(self):
        os.environ["CASCADE_SERVER_KEY"] = "0" * 40
        os.environ["CASCADE_KEY_FILE"] = self.file
        self.assertEqual(client_keys(TCP, ClientOptions())[0], b"0" * 40)
        self.assertEqual(client_keys(TCP, self.options())[:2], (self.public, self.public))

    def test_what_is_wrong_is_named(self):
        self.assertEqual(self.refused(ClientOptions()), "server_key")
        self.assertEqual(self.refused(self.options(server_key="short")), "server_key")
        self.assertEqual(self.refused(self.options(server_key="~" * 40)), "server_key")
        self.assertEqual(self.refused(self.options(key_file="")), "key_file")
        self.assertEqual(self.refused(self.options(key_file="/nowhere")), "key_file")
        self.assertEqual(self.refused(self.options(key_file=self.public_file)), "key_file")
        broken = pathlib.Path(self.file).with_name("broken")
        broken.write_text('public-key = "x"\n    secret-key = "y"\n')
        self.assertEqual(self.refused(self.options(key_file=str(broken))), "key_file")


if __name__ == "__main__":
    unittest.main()
