"""PrivateDaemon: found, started, and gone whatever happens to the program that started it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

from cascade_llm import CascadeError, Client, PrivateDaemon
from cascade_llm.private_daemon import find_cascaded
from support import DEMO_MODEL, PATIENCE_S, until

# Says which daemon it has, and waits.
HOLD = """
import sys, cascade_llm
daemon = cascade_llm.PrivateDaemon(sys.argv[1])
print(daemon.pid, daemon.endpoint, flush=True)
sys.stdin.read()
"""


def has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def folder_of(endpoint: str) -> Path:
    return Path(endpoint[len("ipc://") :]).parent.parent


class FindTest(unittest.TestCase):
    def test_argument_environment_and_path_are_looked_at_in_this_order(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = [Path(folder, name) for name in ("given", "named", "cascaded")]
            for program in programs:
                program.write_text("#!/bin/sh\n")
                program.chmod(0o755)
            given, named, on_path = map(str, programs)
            with unittest.mock.patch.dict(os.environ, CASCADED=named, PATH=folder):
                self.assertEqual(find_cascaded(given), given)
                self.assertEqual(find_cascaded(programs[0]), given)
                self.assertEqual(find_cascaded(None), named)
                self.assertEqual(find_cascaded("cascaded"), on_path)
            with unittest.mock.patch.dict(os.environ, CASCADED="", PATH=folder):
                self.assertEqual(find_cascaded(None), on_path)

    def test_a_program_that_is_not_there_is_told(self) -> None:
        with self.assertRaises(CascadeError) as refused:
            find_cascaded("/no/such/cascaded")
        self.assertEqual(str(refused.exception).split(" '")[0],
                         "not_found: cascaded: there is no program")


class StartTest(unittest.TestCase):
    def assert_refused(self, part: str, *arguments: Any, **options: Any) -> CascadeError:
        with self.assertRaises(CascadeError) as refused:
            PrivateDaemon(*arguments, **options)
        self.assertIn(part, refused.exception.message)
        return refused.exception

    def test_a_folder_that_is_no_model_is_told_with_the_daemon_s_words(self) -> None:
        self.assert_refused("got '/no/such/folder'", "/no/such/folder")
        with tempfile.TemporaryDirectory() as folder:
            error = self.assert_refused("config.json", folder)
        self.assertEqual((error.code, error.field), ("unavailable", "cascaded"))

    def test_a_wrong_option_is_told_with_the_daemon_s_words(self) -> None:
        self.assert_refused("--bogus", DEMO_MODEL, arguments=["--bogus"])

    def program(self, text: str) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "cascaded")
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_a_program_that_cannot_be_run_is_told(self) -> None:
        broken = self.program("no program")
        self.assert_refused("it cannot be run: [Errno 8]", DEMO_MODEL, cascaded=broken)

    def test_a_program_that_ends_at_once_is_told(self) -> None:
        failing = self.program("#!/bin/sh\necho first; echo second; echo third; exit 3\n")
        self.assert_refused("it ended with code 3: second; third", DEMO_MODEL, cascaded=failing)

    def test_a_program_that_never_listens_is_ended(self) -> None:
        error = self.assert_refused(
            "takes too long: it said nothing",
            DEMO_MODEL,
            cascaded=self.program("#!/bin/sh\nexec sleep 1000\n"),
            start_timeout_s=0.2,
        )
        self.assertTrue(error.retryable)

    def test_a_program_that_takes_its_time_to_stop_is_waited_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            begun, mark = Path(folder, "begun"), Path(folder, "stopped in good order")
            text = f"#!/bin/sh\ntrap 'sleep 0.3; touch \"{mark}\"; exit' TERM\ntouch \"{begun}\"\n"
            slow = self.program(text + "while :; do sleep 0.02; done\n")
            for timeout_s in (0.5, 2, 8):  # as long as this machine takes to start it
                self.assert_refused("long", DEMO_MODEL, cascaded=slow, start_timeout_s=timeout_s)
                if begun.exists():
                    break
            self.assertTrue(mark.exists())

    def test_nothing_is_left_of_one_that_was_stopped(self) -> None:
        daemon = PrivateDaemon(DEMO_MODEL)
        daemon.stop()
        daemon.stop()
        self.assertTrue(has_ended(daemon.pid))
        self.assertFalse(folder_of(daemon.endpoint).exists())
        dropped = PrivateDaemon(DEMO_MODEL)
        pid, folder = dropped.pid, folder_of(dropped.endpoint)
        self.assertTrue(folder.exists())
        del dropped
        gc.collect()
        self.assertTrue(has_ended(pid))
        self.assertFalse(folder.exists())

    def test_a_long_temporary_folder_is_avoided(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            long = Path(folder, "x" * 80)
            long.mkdir()
            with unittest.mock.patch.object(tempfile, "tempdir", str(long)):
                daemon = PrivateDaemon(DEMO_MODEL)
            Client(daemon.endpoint).close()
            daemon.stop()

    def test_a_fork_s_end_does_not_stop_it(self) -> None:
        daemon = PrivateDaemon(DEMO_MODEL)
        child = os.fork()
        if child == 0:
            daemon.stop()
            os._exit(0)
        os.waitpid(child, 0)
        Client(daemon.endpoint).close()
        daemon.stop()


class EndTest(unittest.TestCase):
    """However the program ends, the daemon and its folder go, too."""

    def held(self) -> tuple[subprocess.Popen[str], int, Path]:
        program = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(DEMO_MODEL)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert program.stdout is not None
        pid, endpoint = program.stdout.readline().split()
        return program, int(pid), folder_of(endpoint)

    def assert_all_gone(self, pid: int, folder: Path) -> None:
        until(lambda: has_ended(pid) and not folder.exists())

    def test_it_ends(self) -> None:
        program, pid, folder = self.held()
        self.assertTrue(folder.exists())
        program.communicate("", timeout=PATIENCE_S)
        self.assertEqual(program.returncode, 0)
        self.assert_all_gone(pid, folder)

    def test_it_is_killed(self) -> None:
        program, pid, folder = self.held()
        program.kill()
        program.communicate()
        self.assert_all_gone(pid, folder)

    def test_it_is_interrupted(self) -> None:
        program, pid, folder = self.held()
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=PATIENCE_S)
        self.assert_all_gone(pid, folder)

    def test_the_daemon_is_killed(self) -> None:
        program, pid, folder = self.held()
        os.kill(pid, signal.SIGKILL)
        program.communicate("", timeout=PATIENCE_S)
        self.assert_all_gone(pid, folder)


if __name__ == "__main__":
    unittest.main()
