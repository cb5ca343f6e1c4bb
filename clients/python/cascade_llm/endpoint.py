"""Where the daemon is: defaults from the environment, and a first look at the socket."""

from __future__ import annotations

import errno
import os
import socket

from .errors import ENDPOINT_FIELD, invalid_argument, unreachable
from .run_places import SYSTEM_RUN_DIR, client_run_dirs, owner_of

_IPC = "ipc://"
_TCP = "tcp://"
_MISSING = (errno.ENOENT, errno.ENOTDIR)
# A sockaddr_un has 108 bytes for a path and its final zero.
PATH_BYTES_MAX = 107

_REASONS = {
    errno.ENOENT: "there is no such socket",
    errno.ECONNREFUSED: "nobody listens on that socket",
    errno.EACCES: "permission denied: this user may not open that socket (is it in its group?)",
    errno.EPERM: "permission denied: this user may not open that socket (is it in its group?)",
}


def default_endpoint() -> str:
    """$CASCADE_ENDPOINT, else that of the places of client_run_dirs() at which a daemon listens,
    else the first that is there, though nobody listens or this user may not open it, else the
    system's."""
    given = os.environ.get("CASCADE_ENDPOINT", "")
    if given:
        return given
    there = None
    for folder in client_run_dirs(os.geteuid(), os.environ, owner_of):
        endpoint = endpoint_of(folder)
        problem = _connect_error(os.fsencode(endpoint[len(_IPC) :]))
        if problem == 0:
            return endpoint
        if there is None and problem not in _MISSING:
            there = endpoint
    return there or endpoint_of(SYSTEM_RUN_DIR)


def is_endpoint(text: str) -> bool:
    """Whether it is meant as one: ipc://PATH or tcp://HOST:PORT."""
    return text.startswith((_IPC, _TCP))


def endpoint_of(run_dir: str | os.PathLike[str], tenant: str = "") -> str:
    """That of a daemon with `--run-dir RUN_DIR`, and `--tenant TENANT` if it is given."""
    name = f"tenant-{tenant}" if tenant else "cascaded"
    return f"{_IPC}{os.fspath(run_dir)}/{name}.sock"


def probe_endpoint(endpoint: str) -> None:
    """Raises CascadeError invalid_argument for a text that is no endpoint, and unavailable if
    nobody listens there: ZeroMQ would try again and again in silence."""
    if not isinstance(endpoint, str):
        raise invalid_argument(ENDPOINT_FIELD, f"must be a string, got {endpoint!r}")
    if endpoint.startswith(_TCP) and len(endpoint) > len(_TCP):
        return
    if not endpoint.startswith(_IPC):
        raise invalid_argument(
            ENDPOINT_FIELD, f"must be ipc://PATH or tcp://HOST:PORT, got {endpoint!r}"
        )
    path = os.fsencode(endpoint[len(_IPC) :])
    if not path or path.startswith(b"@") or b"\0" in path:
        raise invalid_argument(
            ENDPOINT_FIELD, f"must name the path of a socket, got {endpoint!r}"
        )
    if len(path) > PATH_BYTES_MAX:
        raise invalid_argument(
            ENDPOINT_FIELD,
            f"the path of a socket has at most {PATH_BYTES_MAX} bytes, got {len(path)}",
        )
    _probe_path(path)


def _probe_path(path: bytes) -> None:
    problem = _connect_error(path)
    if problem != 0:
        reason = _REASONS.get(problem, os.strerror(problem))
        raise unreachable(f"{reason}: {os.fsdecode(path)}")


def _connect_error(path: bytes) -> int:
    """0: somebody listens there; else why nobody can be reached."""
    if len(path) > PATH_BYTES_MAX:
        return errno.ENAMETOOLONG
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        problem = probe.connect_ex(path)
    # EAGAIN: the listener's queue is full; somebody is there.
    return 0 if problem in (errno.EAGAIN, errno.EINPROGRESS) else problem
