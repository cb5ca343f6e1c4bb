"""A private cascaded: started for a model folder, and stopped when it is no longer needed."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from .endpoint import PATH_BYTES_MAX, endpoint_of, probe_endpoint
from .errors import CascadeError, invalid_argument
from .greeting import Greeting
from .names import ErrorCode

# How often a daemon that is starting is asked whether it listens.
_LOOK_S = 0.02
_LOG_BYTES = 4096


def find_cascaded(given: str | os.PathLike[str] | None) -> str:
    """The program: as given, else $CASCADED, else that on $PATH."""
    named = os.fspath(given) if given is not None else os.environ.get("CASCADED") or "cascaded"
    found = shutil.which(named)
    if found is None:
        raise CascadeError(
            ErrorCode.NOT_FOUND,
            "cascaded",
            f"there is no program {named!r}; name it by cascaded=PATH or $CASCADED, or put it on "
            "$PATH",
        )
    return found


class PrivateDaemon:
    """Serves one model on a socket in a folder of its own, which is removed at the end; so is its
    state, unless `state_dir` names a folder for it. It stops with stop(), when the object is
    garbage, and when this process ends, however it ends."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        cascaded: str | os.PathLike[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
        start_timeout_s: float = 600.0,
    ) -> None:
        """Returns when the daemon serves. Raises CascadeError `unavailable`, field "cascaded", with
        the daemon's last words, if it ends instead or takes longer."""
        if not Path(model).is_dir():
            raise invalid_argument(
                "model_path", f"must be the folder of a model, or an endpoint, got {str(model)!r}"
            )
        program = find_cascaded(cascaded)
        self._folder = _new_folder()
        self.endpoint = endpoint_of(self._folder / "run")
        state = self._folder / "state" if state_dir is None else state_dir
        command = [program, "--model", os.path.abspath(model)]
        command += ["--run-dir", str(self._folder / "run"), "--state-dir", os.fspath(state)]
        self._keeper = _start_keeper(self._folder, [*command, *arguments])
        self._end = weakref.finalize(self, _stop, self._keeper, os.getpid())
        try:
            told = self._told(start_timeout_s) or "has no keeper"
            if not told.isdecimal():
                raise _not_started(told)
            self.pid = int(told)
            self._wait_until_it_serves(start_timeout_s)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops the daemon and waits for its end. A second call does nothing; nor does a call in a
        fork."""
        self._end()

    def _wait_until_it_serves(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._is_listening():
            self._look(deadline)
        greeting = Greeting(self.endpoint)
        try:
            while not greeting.is_answered():
                self._look(deadline)
        finally:
            greeting.close()

    def _is_listening(self) -> bool:
        try:
            probe_endpoint(self.endpoint)
        except CascadeError:
            return False
        return True

    def _look(self, deadline: float) -> None:
        """Waits a moment. Raises if the daemon has ended or the time is over."""
        ended = self._told(_LOOK_S)
        if ended is not None or time.monotonic() > deadline:
            raise _not_started(f"{ended or 'takes too long'}: {self._last_words()}")

    def _told(self, timeout_s: float) -> str | None:
        """A line from the keeper, or None if none came within that time."""
        assert self._keeper.stdout is not None
        poll = select.poll()
        poll.register(self._keeper.stdout, select.POLLIN)
        if not poll.poll(timeout_s * 1000):
            return None
        line: bytes = self._keeper.stdout.readline()
        return line.decode(errors="replace").strip() or "ended with its keeper"

    def _last_words(self) -> str:
        try:
            log = (self._folder / "cascaded.log").read_bytes()[-_LOG_BYTES:]
        except OSError:
            return "it has no log"
        lines = log.decode(errors="replace").strip().splitlines()
        return "; ".join(lines[-2:]) if lines else "it said nothing"


def _not_started(how: str) -> CascadeError:
    message = f"cascaded did not start; it {how}"
    return CascadeError(ErrorCode.UNAVAILABLE, "cascaded", message)


def _new_folder() -> Path:
    """Makes a folder in the temporary folder, or in /tmp if the temporary folder's name is too long
    for a socket."""
    longest = len("/cascade-12345678/run/cascaded.sock")
    parent = os.fsencode(tempfile.gettempdir())
    inside = None if len(parent) + longest <= PATH_BYTES_MAX else "/tmp"
    return Path(tempfile.mkdtemp(prefix="cascade-", dir=inside))


def _start_keeper(folder: Path, command: list[str]) -> subprocess.Popen[bytes]:
    keeper = Path(__file__).with_name("daemon_keeper.py")
    # Without Python's environment: the keeper needs only the standard library.
    return subprocess.Popen(
        [sys.executable or "python3", "-I", "-S", str(keeper), str(folder), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        # This program handles Ctrl-C in a terminal.
        start_new_session=True,
    )


def _stop(keeper: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    assert keeper.stdin is not None and keeper.stdout is not None
    keeper.stdin.close()
    keeper.wait()
    keeper.stdout.close()
