"""What can be asked of the daemon about its models and its disk."""

from __future__ import annotations

from typing import TypeVar

from .exchange import Kind
from .replies import BackupReply, FsckReply, ModelInfo, ModelListReply, ModelReply
from .requests import BackupRequest, FsckRequest, ModelListRequest, ModelLoad, ModelUnload

_R = TypeVar("_R")


class DaemonCalls:
    """A part of AsyncClient."""

    async def _call(self, reply: type[_R], request: object, kind: Kind = Kind.CALL) -> _R:
        raise NotImplementedError

    async def list_models(self) -> ModelListReply:
        """The daemon's models. A request that names one beside the default model
        (ClientOptions.model) has it loaded."""
        return await self._call(ModelListReply, ModelListRequest(), Kind.SLOW_CALL)

    async def load_model(self, name: str) -> ModelInfo:
        """Waits until it is loaded. By the tenant "local" only."""
        return (await self._call(ModelReply, ModelLoad(name), Kind.SLOW_CALL)).model

    async def estimate_model(self, name: str) -> ModelInfo:
        """What loading it would take; nothing is loaded. By the tenant "local" only."""
        return (await self._call(ModelReply, ModelLoad(name, True), Kind.SLOW_CALL)).model

    async def unload_model(self, name: str) -> ModelInfo:
        """Waits until its memory is free; its chunks stay on disk. By the tenant "local" only."""
        return (await self._call(ModelReply, ModelUnload(name), Kind.SLOW_CALL)).model

    async def fsck(self, *, repair: bool = False, state_dir: str = "") -> FsckReply:
        """Verifies all on disk; takes as long as that takes. A `state_dir` that is not the daemon's
        is refused."""
        return await self._call(FsckReply, FsckRequest(repair, state_dir), Kind.SLOW_CALL)

    async def backup(self, directory: str, *, state_dir: str = "") -> BackupReply:
        """Copies all on disk to an absolute path of the daemon's machine, not there yet or empty;
        takes as long as that takes."""
        request = BackupRequest(directory, state_dir)
        return await self._call(BackupReply, request, Kind.SLOW_CALL)
