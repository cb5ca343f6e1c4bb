"""cascaded --model DIR in the foreground by a user who has nothing: no home, no runtime folder."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from service import BIN, SOURCE


@unittest.skipUnless(os.geteuid() == 0, "becomes another user: run it as root")
class WithoutAnything(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-foreground-")
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        shutil.copytree(SOURCE / "models/demo", folder / "demo")
        for name in ("cascaded", "cascadectl"):
            shutil.copy(BIN / name, folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        self.folder = folder
        self.user = 4_000_000 + os.getpid()
        self.run_dir = pathlib.Path(f"/tmp/cascaded-{self.user}")
        self.addCleanup(shutil.rmtree, self.run_dir, ignore_errors=True)

    def start(self, *command):
        return subprocess.Popen(command, cwd=self.folder, env={"PATH": "/usr/bin:/bin"},
                                user=self.user, group=self.user, extra_groups=[],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_serves_that_user_and_stops_cleanly(self):
        daemon = self.start("./cascaded", "--model", "demo")
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.kill)
        log = []
        for line in daemon.stderr:
            log.append(line)
            if "serving at" in line:
                break
        self.assertIn(f"serving at ipc://{self.run_dir}/cascaded.sock", log[-1], log)
        self.assertEqual(self.run_dir.stat().st_mode & 0o777, 0o700)
        question = self.start("./cascadectl", "generate", "What is the capital of France?")
        answer, errors = question.communicate(timeout=60)
        self.assertEqual((question.returncode, errors), (0, ""))
        self.assertIn("Paris", answer)
        daemon.send_signal(signal.SIGINT)
        self.assertEqual(daemon.wait(timeout=60), 0)
        self.assertEqual([path.name for path in self.run_dir.iterdir()], ["cascaded.lock"])

    def test_does_not_use_a_folder_of_somebody_else(self):
        self.run_dir.mkdir()
        daemon = self.start("./cascaded", "--model", "demo")
        _, errors = daemon.communicate(timeout=60)
        self.assertEqual(daemon.returncode, 1)
        self.assertIn(f"{self.run_dir}: belongs to another user", errors)


if __name__ == "__main__":
    unittest.main()
