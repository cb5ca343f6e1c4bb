"""How chunks become a request, and what ChunkedLLM makes of lists, without a daemon."""

from __future__ import annotations

import dataclasses
import unittest

from cascade_llm import (
    CascadeError,
    ChunkedLLM,
    ChunkRef,
    ChunkType,
    GenerateRequest,
    ListedChunk,
    Sampling,
    chunk_reference,
)
from cascade_llm.compose import composed, with_query
from cascade_llm.frames import Envelope, decode
from cascade_llm.replies import ChunkListReply, ChunkReply, ErrorInfo, ErrorReply
from cascade_llm.requests import ChunkGet
from support import VECTORS, FakeDaemon, Reply, vector_frames

PARAMS = GenerateRequest(max_tokens=7, sampling=Sampling(temperature=0.5))


class ComposeTest(unittest.TestCase):
    def test_a_question_by_text_has_its_system_prompt_first_and_is_retained(self) -> None:
        system = ChunkRef(ChunkType.SYSTEM_PROMPT, text="Be brief.")
        query = ChunkRef(ChunkType.QUERY, text="Why?")
        self.assertEqual(
            with_query(PARAMS, "Be brief.", "Why?"),
            dataclasses.replace(PARAMS, chunks=[system, query], retain_output=True),
        )
        self.assertEqual(
            with_query(None, "", "Why?"), GenerateRequest(chunks=[query], retain_output=True)
        )

    def test_chunks_by_id_stand_in_their_order(self) -> None:
        request = composed(PARAMS, "chunk_s", ["output_1", "chunk_c", "output_2"], "chunk_q")
        chunks = [
            ChunkRef(ChunkType.SYSTEM_PROMPT, id="chunk_s"),
            ChunkRef(ChunkType.OUTPUT, id="output_1"),
            ChunkRef(ChunkType.CONTEXT, id="chunk_c"),
            ChunkRef(ChunkType.OUTPUT, id="output_2"),
            ChunkRef(ChunkType.QUERY, id="chunk_q"),
        ]
        self.assertEqual(request, dataclasses.replace(PARAMS, chunks=chunks))
        self.assertEqual(composed(None, "", [], "chunk_q").chunks, chunks[-1:])
        self.assertEqual(PARAMS.chunks, [])

    def test_a_reference_is_an_output_if_its_id_says_so(self) -> None:
        self.assertEqual(chunk_reference("output_1").type, ChunkType.OUTPUT)
        self.assertEqual(chunk_reference("chunk_1").type, ChunkType.CONTEXT)
        self.assertEqual(chunk_reference("chunk_1", ChunkType.QUERY).type, ChunkType.QUERY)


class RetainedTest(unittest.TestCase):
    """A list cuts texts; the rest is asked for, one by one."""

    def retained(self, error: ErrorReply | None) -> dict[str, str]:
        whole = decode(vector_frames(VECTORS / "chunk_reply.bin")).message
        assert isinstance(whole, ChunkReply)
        listed = decode(vector_frames(VECTORS / "chunk_list_reply.bin")).message
        assert isinstance(listed, ChunkListReply)
        kept = whole.chunk
        short = listed.chunks[0]
        long: ListedChunk = dataclasses.replace(short, id="output_long", text="x" * 400)
        page = ChunkListReply(chunks=[short, long], token_counts=[3, 900], more=False)

        def handle(envelope: Envelope, reply: Reply) -> None:
            if not isinstance(envelope.message, ChunkGet):
                return reply(page)
            if error is not None:
                return reply(error)
            chunk = dataclasses.replace(kept, id="output_long", text="x" * 900)
            return reply(ChunkReply(chunk))

        with FakeDaemon(handle) as daemon, ChunkedLLM(daemon.endpoint) as llm:
            found = llm.get_retained_sequences()
            asked = [one.id for one in daemon.received if isinstance(one, ChunkGet)]
            self.assertEqual(asked, ["output_long"])
            return {id: info["text"] for id, info in found.items()}

    def test_long_texts_come_whole(self) -> None:
        texts = self.retained(None)
        self.assertEqual(list(map(len, texts.values())), [len("Paris."), 900])

    def test_what_is_deleted_meanwhile_is_left_out(self) -> None:
        gone = ErrorReply(ErrorInfo("not_found", "id", "no such chunk"), 0)
        self.assertEqual(list(self.retained(gone).values()), ["Paris."])

    def test_other_errors_are_raised(self) -> None:
        with self.assertRaises(CascadeError) as failed:
            self.retained(ErrorReply(ErrorInfo("io", "disk", "is gone"), 0))
        self.assertEqual(failed.exception.code, "io")


if __name__ == "__main__":
    unittest.main()
