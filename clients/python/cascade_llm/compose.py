"""Requests that compose a prompt of chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .errors import invalid_argument
from .names import ChunkType
from .requests import ChunkRef, GenerateRequest


def chunk_reference(id: str, otherwise: ChunkType = ChunkType.CONTEXT) -> ChunkRef:
    """A reference to a chunk by id: an output if the id says so, else of type `otherwise`."""
    return ChunkRef(ChunkType.OUTPUT if id.startswith("output_") else otherwise, id=id)


def with_query(
    params: GenerateRequest | None, system_prompt: str, query: str
) -> GenerateRequest:
    """A request with a question as text, whose answer is retained."""
    chunks = [ChunkRef(ChunkType.QUERY, text=query)]
    if system_prompt:
        chunks.insert(0, ChunkRef(ChunkType.SYSTEM_PROMPT, text=system_prompt))
    return dataclasses.replace(params or GenerateRequest(), chunks=chunks, retain_output=True)


def composed(
    params: GenerateRequest | None,
    system_chunk_id: str,
    context_chunk_ids: Sequence[str],
    query_chunk_id: str,
) -> GenerateRequest:
    """A request of chunks by id; an empty system id means no system prompt."""
    _check_ids(system_chunk_id, context_chunk_ids, query_chunk_id)
    chunks = [chunk_reference(id) for id in context_chunk_ids]
    if system_chunk_id:
        chunks.insert(0, ChunkRef(ChunkType.SYSTEM_PROMPT, id=system_chunk_id))
    chunks.append(ChunkRef(ChunkType.QUERY, id=query_chunk_id))
    return dataclasses.replace(params or GenerateRequest(), chunks=chunks)


def _check_ids(
    system_chunk_id: object, context_chunk_ids: Sequence[object], query_chunk_id: object
) -> None:
    """Refuses None, the id of an output that was not retained, and one id in place of a list."""
    if isinstance(context_chunk_ids, (str, bytes)):
        raise invalid_argument("context_chunk_ids", "must be a list of ids, got one id")
    ids = {"system_chunk_id": system_chunk_id, "query_chunk_id": query_chunk_id}
    ids.update({f"context_chunk_ids[{i}]": id for i, id in enumerate(context_chunk_ids)})
    for field, id in ids.items():
        if not isinstance(id, str):
            raise invalid_argument(field, f"must be the id of a chunk, got {id!r}")
