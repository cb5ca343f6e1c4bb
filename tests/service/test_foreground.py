"""cascaded in the foreground: started by a user who has nothing, and where others run already."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from service import BIN, SOURCE, Service


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
        self.user = 35_010 + os.getpid() % 5_000
        self.run_dir = pathlib.Path(f"/tmp/cascaded-{self.user}")
        self.addCleanup(shutil.rmtree, self.run_dir, ignore_errors=True)

    def start(self, *command, **environment):
        return subprocess.Popen(command, cwd=self.folder,
                                env={"PATH": "/usr/bin:/bin", **environment},
                                user=self.user, group=self.user, extra_groups=[],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_serves_that_user_and_stops_cleanly(self):
        daemon = self.start("./cascaded", "--model", "demo", HOME="/nonexistent")
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


    def test_does_not_follow_a_link_of_somebody_else(self):
        own = self.folder / "own"
        own.mkdir(mode=0o700)
        os.chown(own, self.user, self.user)
        self.run_dir.symlink_to(own)
        self.addCleanup(self.run_dir.unlink)
        os.chown(self.run_dir, self.user + 1, self.user + 1, follow_symlinks=False)
        daemon = self.start("./cascaded", "--model", "demo")
        _, errors = daemon.communicate(timeout=60)
        self.assertEqual(daemon.returncode, 1)
        self.assertRegex(errors, f"{self.run_dir}: (is a link that belongs to another user|"
                                 "Permission denied)")


class Endpoint(unittest.TestCase):
    def test_of_a_running_daemon_is_left_to_it(self):
        with Service() as service, tempfile.TemporaryDirectory() as folder:
            other = subprocess.run(
                [BIN / "cascaded", "--model", SOURCE / "models/demo", "--run-dir", folder,
                 "--state-dir", "", "--endpoint", service.endpoint],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(other.returncode, 1)
            self.assertIn("somebody listens there already", other.stderr)
            self.assertIn("serving", service.ctl("status").stdout)

    def test_of_a_file_is_refused_and_leaves_it(self):
        with tempfile.TemporaryDirectory() as folder:
            notes = pathlib.Path(folder, "notes")
            notes.write_text("precious")
            daemon = subprocess.run(
                [BIN / "cascaded", "--model", SOURCE / "models/demo", "--run-dir", folder,
                 "--state-dir", "", "--endpoint", f"ipc://{notes}"],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(daemon.returncode, 1)
            self.assertIn(f"{notes}: exists, and is not a socket", daemon.stderr)
            self.assertEqual(notes.read_text(), "precious")


if __name__ == "__main__":
    unittest.main()
