"""How long a client waits, and which keys and model it uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """Times are in milliseconds."""

    # The time for connecting, also to a daemon that is loading its model, and for every answer
    # except those to a generation, a prefix, fsck and backup.
    timeout_ms: int = 5_000
    # If the daemon is silent for this long while a request is in flight, the client asks with a
    # Ping.
    silence_ms: int = 10_000
    # A generation is lost if it sends nothing for this long although the daemon answers. The daemon
    # sends Progress every second.
    lost_ms: int = 60_000
    # The interval of ZeroMQ's own heartbeats, and how long the other side may be silent.
    heartbeat_interval_ms: int = 5_000
    heartbeat_timeout_ms: int = 15_000
    # For tcp:// endpoints, which accept only clients with keys: the daemon's public key, and the
    # file of the client's own pair (cascadectl key new --curve). If empty, $CASCADE_SERVER_KEY and
    # $CASCADE_KEY_FILE are used.
    server_key: str = ""
    key_file: str = ""
    # The model for all requests; "" means the daemon's default model. The first request that needs
    # a model which is not loaded loads it.
    model: str = ""
