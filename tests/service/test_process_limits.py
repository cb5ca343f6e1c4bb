"""A start without room for the daemon's threads says which limits apply, and ends."""
import os
import pathlib
import pwd
import signal
import subprocess
import tempfile
import unittest

from service import BIN, LONG, SOURCE

MIB = 1 << 20


class ProcessLimits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-limits-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, *prefix):
        """Returns the exit code and output of a daemon that ends before it serves. A daemon that
        serves is stopped: (None, output)."""
        with open(self.folder / "log", "w+") as log:
            process = subprocess.Popen(
                [*prefix, BIN / "cascaded", "--model", SOURCE / "models/demo", "--state-dir", "",
                 "--run-dir", self.folder / "run", "--kv-memory", "8M", "--threads", "2"],
                stdout=log, stderr=log)
            serves = False
            while process.poll() is None and not serves:
                serves = "serving at" in (self.folder / "log").read_text()
            if serves:
                process.send_signal(signal.SIGTERM)
            code = process.wait()
        return None if serves else code, (self.folder / "log").read_text()

    def test_of_the_address_space(self):
        sizes = range(20, 1200, 20) if LONG else [30, 60, 120, 400, 700]
        for mib in sizes:
            code, log = self.start("prlimit", f"--as={mib * MIB}")
            if code is None:
                continue
            self.assertGreaterEqual(code, 0, f"{mib} MiB, by a signal: {log}")
            said = "ulimit -v" in log or "error while loading shared libraries" in log
            self.assertTrue(said, f"{mib} MiB: {log}")

    @unittest.skipIf(os.getuid() != 0, "only root can be another user, with threads of its own")
    def test_of_threads(self):
        nobody = pwd.getpwnam("nobody")
        self.folder.chmod(0o777)
        for threads in range(1, 25) if LONG else [4, 10, 14]:
            code, log = self.start("prlimit", f"--nproc={threads}", "setpriv",
                                   f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}",
                                   "--clear-groups")
            if threads < 15:
                self.assertEqual(code, 1, f"{threads} threads: {log}")
                self.assertIn(f"ulimit -u ({threads})", log)
            else:
                self.assertIn(code, (None, 1), f"{threads} threads: {log}")


if __name__ == "__main__":
    unittest.main()
