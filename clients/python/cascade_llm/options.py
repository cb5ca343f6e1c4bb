"""How long a client waits for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """Milliseconds, but for the keys."""

    # For connecting, also to a daemon that loads its model, and for every answer but a
    # generation's, a prefix's, fsck's and backup's.
    timeout_ms: int = 5_000
    # If the daemon is silent for so long while a request is in flight, it is asked with a Ping.
    silence_ms: int = 10_000
    # A generation of which nothing came for so long although the daemon answers is lost. The daemon
    # sends Progress every second.
    lost_ms: int = 60_000
    # ZeroMQ's own heartbeats: how often, and how long the other side may be silent.
    heartbeat_interval_ms: int = 5_000
    heartbeat_timeout_ms: int = 15_000
    # For tcp:// endpoints, which accept only clients with keys: the daemon's public key, and the
    # file of the client's own pair (cascadectl key new --curve). If empty, $CASCADE_SERVER_KEY and
    # $CASCADE_KEY_FILE hold.
    server_key: str = ""
    key_file: str = ""
    # The model that all requests are meant for; "": the daemon's default model. One that is not
    # loaded is loaded by the first request that needs it.
    model: str = ""
