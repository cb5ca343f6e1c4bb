"""Calls about the daemon's models and its disk."""

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
        """The daemon's models. A request that names a model other than the default one
        (ClientOptions.model) also loads it."""
        return await self._call(ModelListReply, ModelListRequest(), Kind.SLOW_CALL)

    async def load_model(self, name: str) -> ModelInfo:
        """Waits until the model is loaded. Only for the tenant "local"."""
        return (await self._call(ModelReply, ModelLoad(name), Kind.SLOW_CALL)).model

    async def estimate_model(self, name: str) -> ModelInfo:
        """Says what loading the model would take; nothing is loaded. Only for the tenant
        "local"."""
        return (await self._call(ModelReply, ModelLoad(name, True), Kind.SLOW_CALL)).model

    async def unload_model(self, name: str) -> ModelInfo:
        """Waits until the model's memory is free; its chunks stay on disk. Only for the tenant
        "local"."""
        return (await self._call(ModelReply, ModelUnload(name), Kind.SLOW_CALL)).model

    async def fsck(self, *, repair: bool = False, state_dir: str = "") -> FsckReply:
        """Verifies everything on disk, and waits until that is done. A `state_dir` that is not the
        daemon's is refused."""
        return await self._call(FsckReply, FsckRequest(repair, state_dir), Kind.SLOW_CALL)

    async def backup(self, directory: str, *, state_dir: str = "") -> BackupReply:
        """Copies everything on disk to an absolute path of the daemon's machine that does not exist
        yet or is empty. Waits until that is done."""
        request = BackupRequest(directory, state_dir)
        return await self._call(BackupReply, request, Kind.SLOW_CALL)
