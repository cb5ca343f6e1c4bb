"""The protocol's vectors: one message of each type, byte for byte."""

from __future__ import annotations

import unittest

from cascade_llm import ChunkType, KvState, MissReason
from cascade_llm.chunk import Chunk
from cascade_llm.frames import MESSAGE_TYPES, decode, encode
from cascade_llm.replies import ChunkReply, Final, Pong, StatsReply
from cascade_llm.requests import CancelRequest, ChunkPut, GenerateRequest, Ping
from support import VECTORS, vector_frames

COUNTING_ID = bytes(range(16))


def message_of(name: str) -> object:
    return decode(vector_frames(VECTORS / f"{name}.bin")).message


class VectorsTest(unittest.TestCase):
    def test_every_vector_decodes_and_encodes_to_the_same_bytes(self) -> None:
        paths = sorted(VECTORS.glob("*.bin"))
        self.assertEqual(len(paths), len(MESSAGE_TYPES))
        for path in paths:
            with self.subTest(path.stem):
                frames = vector_frames(path)
                envelope = decode(frames)
                self.assertEqual(envelope.request_id, COUNTING_ID)
                self.assertEqual(encode(envelope.request_id, envelope.message), frames)

    def test_every_message_type_has_a_vector_of_its_name(self) -> None:
        for number, message_type in enumerate(MESSAGE_TYPES):
            words = "".join("_" + c.lower() if c.isupper() else c for c in message_type.__name__)
            frames = vector_frames(VECTORS / f"{words[1:]}.bin")
            self.assertEqual(frames[0][5], number, message_type.__name__)
            self.assertIs(type(decode(frames).message), message_type)

    def test_a_request_has_the_fields_that_the_vector_was_made_of(self) -> None:
        request = message_of("generate_request")
        assert isinstance(request, GenerateRequest)
        types = [ref.type for ref in request.chunks]
        self.assertEqual(types, [ChunkType.SYSTEM_PROMPT, ChunkType.OUTPUT, ChunkType.QUERY])
        self.assertEqual(request.chunks[0].text, "You are terse.")
        self.assertEqual(request.chunks[1].id, "output_0123456789abcdef0123456789abcdef")
        self.assertEqual(request.max_tokens, 64)
        self.assertEqual(request.sampling.temperature, 0.5)
        self.assertEqual(request.sampling.seed, 42)
        self.assertIsNone(request.sampling.top_p)
        biases = [(bias.token, bias.bias) for bias in request.sampling.logit_bias]
        self.assertEqual(biases, [(151645, -100.0), (49, 1.5)])
        self.assertEqual(request.stop, ["\n\n"])
        self.assertTrue(request.retain_output and request.stream and request.logprobs)
        self.assertIsNone(request.prompt)
        self.assertEqual(request.attention, "select:4096")

    def test_a_reply_has_the_fields_and_arrays_that_the_vector_was_made_of(self) -> None:
        final = message_of("final")
        assert isinstance(final, Final)
        self.assertEqual((final.text, final.reasoning), ("Rome.", "Italy: Rome"))
        self.assertEqual(final.token_ids, [151667, 49, 2])
        self.assertEqual(final.logprobs, [-0.5, -0.25, -2.0])
        self.assertEqual(final.top_token_ids, [151667, 7, 49, 50, 49, 2])
        self.assertEqual(final.usage.miss.reason, MissReason.DIFFERS)
        self.assertEqual(final.usage.loaded_tokens, 10)
        self.assertEqual(final.usage.selected_tokens, 4)
        self.assertEqual((final.usage.drafted_tokens, final.usage.accepted_tokens), (9, 8))
        self.assertEqual(final.timings.total_us, 3600)
        self.assertEqual(final.attention, "select:4096:0")

    def test_a_chunk_has_the_fields_that_the_vector_was_made_of(self) -> None:
        reply = message_of("chunk_reply")
        assert isinstance(reply, ChunkReply) and isinstance(reply.chunk, Chunk)
        self.assertEqual(reply.chunk.token_ids, [151667, 151668, 12])
        self.assertEqual(reply.chunk.kv_state, KvState.READY)
        self.assertEqual(reply.chunk.think_spans[0].end, 2)
        self.assertEqual(reply.chunk.generation.logit_bias_count, 2)
        self.assertEqual(reply.chunk.name, "capitals")

    def test_optional_structs_of_statistics_are_there(self) -> None:
        stats = message_of("stats_reply")
        assert isinstance(stats, StatsReply) and stats.cache and stats.disk and stats.states
        self.assertEqual(stats.cache.refault_share, 0.25)
        self.assertEqual(stats.disk.load_bytes_per_s, 2_000_000_000)
        self.assertEqual((stats.states.states_kept, stats.states.loaded), (5, 4))

    def test_small_messages_are_as_the_specification_says(self) -> None:
        self.assertEqual(encode(COUNTING_ID, Ping()), [b"CAS1\1\0\0\0", COUNTING_ID, b"\x80"])
        self.assertEqual(
            encode(COUNTING_ID, ChunkPut(ChunkType.QUERY, "hi"))[2],
            b"\x82\xa4type\xa5QUERY\xa4text\xa2hi",
        )
        self.assertEqual(
            encode(COUNTING_ID, CancelRequest(COUNTING_ID))[2],
            b"\x81\xa6target\xc4\x10" + COUNTING_ID,
        )
        self.assertEqual(decode(encode(COUNTING_ID, Pong("a", "b"))).message, Pong("a", "b"))

    def test_token_ids_travel_as_little_endian_words(self) -> None:
        frames = encode(COUNTING_ID, ChunkPut(ChunkType.CONTEXT, token_ids=[1, -2, 151667]))
        self.assertEqual(frames[3], bytes([1, 0, 0, 0, 0xFE, 255, 255, 255, 0x73, 0x50, 2, 0]))


if __name__ == "__main__":
    unittest.main()
