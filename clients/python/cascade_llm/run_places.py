"""The default places of daemons' sockets, by the rule of base/run_places.h."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping

SYSTEM_RUN_DIR = "/run/cascaded"


def owner_of(path: str) -> int | None:
    """The owner of the folder; None if the path is not a folder, or is a link."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_uid if stat.S_ISDIR(info.st_mode) else None


def client_run_dirs(
    user: int, environment: Mapping[str, str], owner_of: Callable[[str], int | None]
) -> list[str]:
    """The places in which a client of this user looks for a daemon, in this order: the first folder
    of $RUNTIME_DIRECTORY; /run/cascaded, if it is this user's, or the user is root and there is
    none; $XDG_RUNTIME_DIR/cascaded, /run/user/UID/cascaded and /tmp/cascaded-UID, if the folder in
    front of "/cascaded", and that in /tmp itself, is this user's; /run/cascaded, whoever's it is.
    """
    places: dict[str, None] = {}  # in order, each only once
    systemd = environment.get("RUNTIME_DIRECTORY", "")
    if systemd.startswith("/"):
        places[systemd.split(":", 1)[0]] = None
    of_system = owner_of(SYSTEM_RUN_DIR)
    if of_system == user or (user == 0 and of_system is None):
        places[SYSTEM_RUN_DIR] = None
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and owner_of(runtime) == user:
        places[f"{runtime}/cascaded"] = None
    of_login = f"/run/user/{user}"
    if owner_of(of_login) == user:
        places[f"{of_login}/cascaded"] = None
    temporary = f"/tmp/cascaded-{user}"
    if owner_of(temporary) == user:
        places[temporary] = None
    places[SYSTEM_RUN_DIR] = None
    return list(places)
