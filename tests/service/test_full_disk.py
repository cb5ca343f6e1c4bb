"""A full disk: the service answers, reports it, keeps the watchdog fed, and recovers by itself."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from service import Service, wait_until

# The state directory is on a small file system that only the daemon uses.
MOUNT = 'mount -t tmpfs -o size=6m,mode=0700 tmpfs "$0" && exec "$@"'
ALONE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


class FullDisk(unittest.TestCase):
    def test_the_service_goes_on_and_recovers(self):
        with tempfile.TemporaryDirectory(prefix="cascade-service-") as name:
            folder = pathlib.Path(name)
            state = folder / "state"
            state.mkdir(mode=0o700)
            prefix = [*ALONE, "bash", "-c", MOUNT, str(state)]
            with Service("--cache-dir", str(folder / "cache"), prefix=prefix, folder=folder,
                         watchdog_us=2_000_000) as service:
                service.ctl("chunk", "put", "a text from before")
                inside = pathlib.Path(f"/proc/{service.process.pid}/root{state}")
                filler = inside / "filler"
                self.fill(filler)
                service.ctl("chunk", "put", input="text " * 50_000, check=False)
                wait_until(lambda: self.warnings(service))
                answer = service.ctl("generate", "--temperature", "0",
                                     "What is the capital of France?")
                self.assertIn("Paris", answer.stdout)
                # The output is kept without K and V: so small a disk has no room for them at all.
                kept = service.ctl("generate", "--retain", "--think-policy", "drop",
                                   "--max-tokens", "4", "Count to ten.")
                self.assertIn("cannot write to its disk", kept.stderr)
                self.assertIn("a text from before", service.ctl("chunk", "list").stdout)
                service.manager.drain()
                for _ in range(4):
                    service.manager.wait_for("WATCHDOG", "1")
                filler.unlink()
                wait_until(lambda: not self.warnings(service))
                service.ctl("chunk", "put", "a text from afterwards")
                self.assertEqual(service.stop(), 0)

    def warnings(self, service):
        return json.loads(service.ctl("status", "--json").stdout)["warnings"]

    def fill(self, path):
        with open(path, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass


if __name__ == "__main__":
    if subprocess.run([*ALONE, "true"], capture_output=True).returncode != 0:
        print("skipped: this user may not mount file systems of its own")
        sys.exit(77)
    unittest.main()
