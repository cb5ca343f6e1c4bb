"""The keys of a connection over tcp."""

from __future__ import annotations

import os

import zmq.auth
import zmq.utils.z85

from .errors import invalid_argument
from .options import ClientOptions

_KEY_CHARACTERS = 40


def client_keys(endpoint: str, options: ClientOptions) -> tuple[bytes, bytes, bytes] | None:
    """The daemon's public key, and the client's own public and secret keys; None for endpoints that
    are not tcp://. Raises CascadeError invalid_argument."""
    if not endpoint.startswith("tcp://"):
        return None
    server_key = options.server_key or os.environ.get("CASCADE_SERVER_KEY", "")
    path = options.key_file or os.environ.get("CASCADE_KEY_FILE", "")
    if not server_key:
        raise invalid_argument(
            "server_key", "tcp needs the daemon's public key (CASCADE_SERVER_KEY)"
        )
    if not path:
        raise invalid_argument(
            "key_file",
            "tcp needs a key of the client's own (CASCADE_KEY_FILE; cascadectl key new --curve)",
        )
    try:
        public, secret = zmq.auth.load_certificate(path)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise invalid_argument("key_file", f"{path}: {error}") from None
    if secret is None:
        raise invalid_argument("key_file", f"{path} has no secret key")
    keys = server_key.encode(), public, secret
    for name, key in zip(("server_key", "key_file", "key_file"), keys):
        _check(name, key)
    return keys


def _check(name: str, key: bytes) -> None:
    try:
        if len(key) == _KEY_CHARACTERS:
            zmq.utils.z85.decode(key)
            return
    except (KeyError, ValueError):
        pass
    raise invalid_argument(name, f"must have {_KEY_CHARACTERS} characters of Z85")
