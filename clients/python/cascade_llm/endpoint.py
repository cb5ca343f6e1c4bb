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
# A sockaddr_un has 108 bytes for a path, including its final zero.
PATH_BYTES_MAX = 107

_REASONS = {
    errno.ENOENT: "there is no such socket",
    errno.ECONNREFUSED: "nobody listens on that socket",
    errno.EACCES: "permission denied: this user may not open that socket (is it in its group?)",
    errno.EPERM: "permission denied: this user may not open that socket (is it in its group?)",
}


def default_endpoint() -> str:
    """The first of these: $CASCADE_ENDPOINT; the first place of client_run_dirs() where a daemon
    listens; the first whose socket exists, even if nobody listens or this user may not open it; the
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
    """Whether the text is meant as an endpoint: ipc://PATH or tcp://HOST:PORT."""
    return text.startswith((_IPC, _TCP))


def endpoint_of(run_dir: str | os.PathLike[str], tenant: str = "") -> str:
    """The endpoint of a daemon with `--run-dir RUN_DIR`, and with `--tenant TENANT` if it is
    given."""
    name = f"tenant-{tenant}" if tenant else "cascaded"
    return f"{_IPC}{os.fspath(run_dir)}/{name}.sock"


def probe_endpoint(endpoint: str) -> None:
    """Raises CascadeError invalid_argument if the text is not an endpoint, and unavailable if
    nobody listens there: ZeroMQ would try again and again without an error."""
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
    """0 if somebody listens there, else the reason why nobody can be reached."""
    if len(path) > PATH_BYTES_MAX:
        return errno.ENAMETOOLONG
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        problem = probe.connect_ex(path)
    # EAGAIN means that the listener's queue is full, so somebody is there.
    return 0 if problem in (errno.EAGAIN, errno.EINPROGRESS) else problem
