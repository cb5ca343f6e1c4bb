"""Where the daemon is: defaults from the environment, and a first look at the socket."""

from __future__ import annotations

import errno
import os
import socket
import stat

from .errors import ENDPOINT_FIELD, invalid_argument, unreachable

_IPC = "ipc://"
_TCP = "tcp://"
_SYSTEM_SOCKET = "/run/cascaded/cascaded.sock"
# A sockaddr_un has 108 bytes for a path and its final zero.
PATH_BYTES_MAX = 107

_REASONS = {
    errno.ENOENT: "there is no such socket",
    errno.ECONNREFUSED: "nobody listens on that socket",
    errno.EACCES: "this user may not open that socket",
    errno.EPERM: "this user may not open that socket",
}


def default_endpoint() -> str:
    """$CASCADE_ENDPOINT, else the socket in $XDG_RUNTIME_DIR/cascaded if it is there, else that in
    /tmp/cascaded-UID if it is there and the folder is this user's, else that in /run/cascaded."""
    given = os.environ.get("CASCADE_ENDPOINT", "")
    if given:
        return given
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    path = f"{runtime}/cascaded/cascaded.sock"
    if runtime.startswith("/") and os.path.exists(path):
        return _IPC + path
    temporary = f"/tmp/cascaded-{os.geteuid()}"
    path = f"{temporary}/cascaded.sock"
    if _is_own(temporary) and os.path.exists(path):
        return _IPC + path
    return _IPC + _SYSTEM_SOCKET


def _is_own(folder: str) -> bool:
    """Whether it is a folder that belongs to this user: names in /tmp are everybody's."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()


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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        problem = probe.connect_ex(path)
    # EAGAIN: the listener's queue is full; somebody is there.
    if problem not in (0, errno.EAGAIN, errno.EINPROGRESS):
        reason = _REASONS.get(problem, os.strerror(problem))
        raise unreachable(f"{reason}: {os.fsdecode(path)}")
