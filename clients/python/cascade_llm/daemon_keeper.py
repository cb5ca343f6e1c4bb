"""Runs a private cascaded for as long as its standard input is open, so that even a program that is
killed leaves no daemon behind. private_daemon.py starts it as a program of its own.

    python daemon_keeper.py FOLDER COMMAND...

Prints the daemon's process id, or a line that says why it could not start the daemon; and "ended
with code N" when the daemon ends by itself. At the end it stops the daemon and removes FOLDER,
which has the daemon's log.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

# Longer than the daemon's --stop-timeout.
_STOP_S = 60


def _say(line: str) -> None:
    try:
        os.write(1, f"{line}\n".encode())
    except OSError:
        pass  # Nobody listens any more; standard input says so too.


def _keep(daemon: subprocess.Popen[bytes]) -> None:
    _say(str(daemon.pid))
    threading.Thread(target=lambda: _say(f"ended with code {daemon.wait()}"), daemon=True).start()
    sys.stdin.buffer.read()


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def main() -> None:
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        with (folder / "cascaded.log").open("wb") as log:
            try:
                daemon = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )
            except OSError as error:
                _say(f"cannot be run: {error}")
                return
        try:
            _keep(daemon)
        finally:
            _stop(daemon)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
