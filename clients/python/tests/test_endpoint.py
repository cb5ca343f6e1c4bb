"""Where a client looks for the daemon, and what it says if nobody is there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from cascade_llm import default_endpoint, endpoint_of
from cascade_llm.endpoint import PATH_BYTES_MAX, is_endpoint, probe_endpoint
from cascade_llm.errors import CascadeError
from cascade_llm.run_places import client_run_dirs
from support import ROOT


class PlacesTest(unittest.TestCase):
    def test_are_those_of_all_clients(self) -> None:
        cases = json.loads((ROOT / "tests" / "run_places.json").read_text())
        self.assertGreater(len(cases), 10)
        for case in cases:
            with self.subTest(case["case"]):
                places = client_run_dirs(case["user"], case["environment"], case["owners"].get)
                self.assertEqual(places, case["client"])


class DefaultTest(unittest.TestCase):
    def default(self, **environment: str) -> str:
        with mock.patch.dict(os.environ, environment, clear=True):
            return default_endpoint()

    def test_the_environment_comes_first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            socket_file = Path(folder, "cascaded", "cascaded.sock")
            socket_file.parent.mkdir()
            socket_file.touch()
            self.assertEqual(self.default(XDG_RUNTIME_DIR=folder), f"ipc://{socket_file}")
            given = self.default(XDG_RUNTIME_DIR=folder, CASCADE_ENDPOINT="ipc:///x")
            self.assertEqual(given, "ipc:///x")
            empty = self.default(XDG_RUNTIME_DIR=folder, CASCADE_ENDPOINT="")
            self.assertEqual(empty, f"ipc://{socket_file}")

    def test_the_system_s_socket_comes_last(self) -> None:
        system = "ipc:///run/cascaded/cascaded.sock"
        self.assertEqual(self.default(), system)
        self.assertEqual(self.default(XDG_RUNTIME_DIR="relative"), system)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.default(XDG_RUNTIME_DIR=folder), system)

    @unittest.skipUnless(os.geteuid() == 0, "gives a folder to another user")
    def test_a_folder_of_the_user_s_own_in_tmp_comes_before_the_system_s(self) -> None:
        user = 25_010 + os.getpid() % 5_000
        folder = Path(f"/tmp/cascaded-{user}")
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        Path(folder, "cascaded.sock").touch()
        with mock.patch("os.geteuid", return_value=user):
            self.assertEqual(self.default(), "ipc:///run/cascaded/cascaded.sock", "not the user's")
            os.chown(folder, user, user)
            self.assertEqual(self.default(), f"ipc://{folder}/cascaded.sock")
            Path(folder, "cascaded.sock").unlink()
            self.assertEqual(self.default(), "ipc:///run/cascaded/cascaded.sock")

    def test_a_daemon_that_listens_comes_before_a_socket_that_was_left(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            left, served = Path(folder, "left"), Path(folder, "cascaded")
            for place in (left, served):
                place.mkdir()
            (left / "cascaded.sock").touch()
            environment = {"RUNTIME_DIRECTORY": str(left), "XDG_RUNTIME_DIR": folder}
            self.assertEqual(self.default(**environment), f"ipc://{left}/cascaded.sock")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(served / "cascaded.sock"))
                listener.listen()
                self.assertEqual(self.default(**environment), f"ipc://{served}/cascaded.sock")

    def test_a_run_directory_has_its_socket(self) -> None:
        self.assertEqual(endpoint_of(Path("/run/x")), "ipc:///run/x/cascaded.sock")
        self.assertEqual(endpoint_of("/run/x", "guest"), "ipc:///run/x/tenant-guest.sock")

    def test_endpoints_differ_from_folders(self) -> None:
        self.assertTrue(is_endpoint("ipc:///x") and is_endpoint("tcp://h:1"))
        self.assertFalse(is_endpoint("/models/x") or is_endpoint("models/ipc"))


class ProbeTest(unittest.TestCase):
    def problem(self, endpoint: Any) -> CascadeError:
        with self.assertRaises(CascadeError) as refused:
            probe_endpoint(endpoint)
        self.assertEqual(refused.exception.field, "endpoint")
        return refused.exception

    def test_what_is_no_endpoint_is_refused(self) -> None:
        for text in ("", "/run/x.sock", "http://x", "tcp://", "ipc://", "ipc://@x", "ipc://a\0", 5):
            self.assertEqual(self.problem(text).code, "invalid_argument", text)

    def test_long_paths_are_refused_by_their_bytes(self) -> None:
        self.assertEqual(self.problem("ipc:///" + "x" * (PATH_BYTES_MAX - 1)).code, "unavailable")
        self.assertEqual(self.problem("ipc:///" + "x" * PATH_BYTES_MAX).code, "invalid_argument")
        self.assertEqual(self.problem("ipc:///" + "ü" * 60).code, "invalid_argument")

    def test_nobody_there_is_told_at_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            self.assertIn("there is no such socket", self.problem(f"ipc://{path}").message)
            with socket.socket(socket.AF_UNIX) as closed:
                closed.bind(path)
            error = self.problem(f"ipc://{path}")
            self.assertIn("nobody listens", error.message)
            self.assertTrue(error.unreachable and error.retryable)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(path + "2")
                listening.listen()
                probe_endpoint(f"ipc://{path}2")

    def test_tcp_is_left_to_zeromq(self) -> None:
        probe_endpoint("tcp://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
