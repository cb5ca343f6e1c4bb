"""encode() and decode(): hostile frames, fields that are wrong, values that cannot be sent."""

from __future__ import annotations

import copy
import math
import pickle
import random
import unittest
from typing import Any

import msgpack

from cascade_llm import (
    ChatMessage,
    ChunkRef,
    ChunkType,
    GenerateRequest,
    LogitBias,
    MissReason,
    Sampling,
)
from cascade_llm.errors import CascadeError
from cascade_llm.frames import FRAMES_MAX, MESSAGE_TYPES, decode, encode, peek_request_id
from cascade_llm.replies import Accepted, ChunkListReply, Delta, Final, Miss, SessionReply
from cascade_llm.requests import CancelRequest, ChunkPut, ChunkSearch, Ping
from support import VECTORS, new_seed, vector_frames

ID = bytes(range(16))


def frames_of(message_type: type[object], fields: Any, *arrays: bytes) -> list[bytes]:
    header = b"CAS1\1" + bytes([MESSAGE_TYPES.index(message_type)]) + b"\0\0"
    body = fields if isinstance(fields, bytes) else msgpack.packb(fields)
    return [header, ID, body, *arrays]


def vector(name: str) -> list[bytes]:
    return vector_frames(VECTORS / f"{name}.bin")


class RefusalTest(unittest.TestCase):
    def assert_refused(
        self, frames: list[bytes], field: str, part: str = "", code: str = "invalid_argument"
    ) -> None:
        with self.assertRaises(CascadeError) as refused:
            decode(frames)
        error = refused.exception
        self.assertEqual((error.code, error.field), (code, field), error)
        self.assertIn(part, error.message)


class HeaderTest(RefusalTest):
    def test_the_number_of_frames_is_bounded(self) -> None:
        for count in (0, 1, 2):
            self.assert_refused(vector("ping")[:count], "frames", f"got {count}")
        self.assert_refused(vector("ping") + [b""] * FRAMES_MAX, "frames", "got 4099")

    def test_the_bytes_of_a_message_are_bounded(self) -> None:
        self.assert_refused(vector("ping") + [bytes(64 << 20)], "frames", "the limit of 67108864")

    def test_each_part_of_the_header_is_checked(self) -> None:
        _, request_id, body = vector("ping")
        self.assert_refused([b"CAS1\1\0\0", request_id, body], "header", "got 7")
        self.assert_refused([b"HTTP\1\0\0\0", request_id, body], "magic")
        self.assert_refused([b"CAS1\1\0\1\0", request_id, body], "flags")
        self.assert_refused([b"CAS1\1\0\0\x80", request_id, body], "flags")
        self.assert_refused([b"CAS1\2\0\0\0", request_id, body], "version", "2", "unsupported")
        unknown = len(MESSAGE_TYPES)
        header = b"CAS1\1" + bytes([unknown, 0, 0])
        self.assert_refused([header, request_id, body], "type", str(unknown), "unsupported")
        self.assert_refused([b"CAS1\1\xff\0\0", request_id, body], "type", "255", "unsupported")
        self.assert_refused([b"CAS1\1\0\0\0", request_id[:15], body], "request_id", "got 15")

    def test_the_request_id_of_refused_frames_is_known_if_there_is_one(self) -> None:
        self.assertEqual(peek_request_id([b"", ID, b""]), ID)
        few: list[list[bytes]] = [[], [b""], [b"", ID[:3]]]
        for frames in few:
            self.assertEqual(peek_request_id(frames), bytes(16))


class FieldTest(RefusalTest):
    def test_a_body_that_is_no_map_is_refused(self) -> None:
        self.assert_refused(frames_of(Ping, b""), "body", "ends within")
        self.assert_refused(frames_of(Ping, b"\x01"), "body", "is not a map")

    def test_missing_fields_and_nil_are_named(self) -> None:
        self.assert_refused(frames_of(Delta, {"text": "a"}), "reasoning", "is missing")
        self.assert_refused(frames_of(Delta, {"text": None, "reasoning": True}), "text")

    def test_types_are_strict(self) -> None:
        value: Any
        for value in (1, None, "true", 1.0):
            self.assert_refused(frames_of(Delta, {"text": "a", "reasoning": value}), "reasoning")
        for value in (b"a", 1, None, ["a"]):
            self.assert_refused(frames_of(Delta, {"text": value, "reasoning": True}), "text")
        for number in (1.0, True, "1", [1], None):
            self.assert_refused(frames_of(Accepted, {"queue_position": number}), "queue_position")
        self.assert_refused(frames_of(CancelRequest, {"target": ID[:4]}), "target", "16 bytes")
        self.assert_refused(frames_of(CancelRequest, {"target": "a" * 16}), "target")

    def test_numbers_must_fit_their_fields(self) -> None:
        for number in (1 << 31, -(1 << 31) - 1, 1 << 63):
            self.assert_refused(
                frames_of(Accepted, {"queue_position": number}), "queue_position", "must be between"
            )
        largest = {"queue_position": (1 << 31) - 1}
        self.assertEqual(decode(frames_of(Accepted, largest)).message, Accepted((1 << 31) - 1))

    def test_numbers_may_be_whole_where_fractions_are_allowed(self) -> None:
        fields = {"messages": [{"role": "user", "content": "x"}], "sampling": {"temperature": 1}}
        request = decode(frames_of(GenerateRequest, fields)).message
        assert isinstance(request, GenerateRequest)
        self.assertIsInstance(request.sampling.temperature, float)

    def test_places_deep_inside_are_named(self) -> None:
        messages: list[Any] = [{"role": "user", "content": "x"}, {"role": 5, "content": "x"}]
        self.assert_refused(frames_of(GenerateRequest, {"messages": messages}), "messages[1].role")
        messages[1] = "x"
        self.assert_refused(frames_of(GenerateRequest, {"messages": messages}), "messages[1]")
        biases = {"logit_bias": [{"token": 1, "bias": "x"}]}
        self.assert_refused(
            frames_of(GenerateRequest, {"sampling": biases}), "sampling.logit_bias[0].bias"
        )

    def test_a_key_twice_is_refused_unless_nobody_reads_it(self) -> None:
        twice = b"\x82\xa4text\xa1a\xa4text\xa1b"
        self.assert_refused(frames_of(Delta, twice), "text", "occurs twice")
        unknown = b"\x83\xa4text\xa1a\xa9reasoning\xc3\xa1x\x82\xa1y\x01\xa1y\x02"
        self.assertEqual(decode(frames_of(Delta, unknown)).message, Delta("a", True))

    def test_strings_must_be_utf8_and_short_enough(self) -> None:
        bad = b"\x82\xa4text\xa2a\xff\xa9reasoning\xc3"
        self.assert_refused(frames_of(Delta, bad), "text", "is not UTF-8 at character 1")
        long = {"text": "x" * ((16 << 20) + 1), "reasoning": True}
        self.assert_refused(frames_of(Delta, long), "text", "the limit of 16777216")

    def test_unknown_keys_are_ignored_and_unknown_names_kept(self) -> None:
        known = decode(frames_of(Delta, {"text": "a", "new": [1, {}], "reasoning": False})).message
        self.assertEqual(known, Delta("a", False))
        fields = msgpack.unpackb(vector("final")[2])
        fields["usage"]["miss"]["reason"] = "of_next_year"
        final = decode(frames_of(Final, fields, *vector("final")[3:])).message
        assert isinstance(final, Final)
        reason = final.usage.miss.reason
        self.assertEqual((reason, str(reason)), ("of_next_year", "of_next_year"))
        self.assertNotIn(reason, list(MissReason))
        self.assertEqual(copy.deepcopy(reason), reason)
        self.assertEqual(pickle.loads(pickle.dumps(reason)), reason)
        with self.assertRaises(ValueError):
            MissReason("of_next_year")


class ArrayTest(RefusalTest):
    def final(self, changes: dict[str, Any], *arrays: bytes) -> list[bytes]:
        fields = msgpack.unpackb(vector("final")[2])
        for name in ("token_ids", "logprobs", "top_token_ids", "top_logprobs"):
            del fields[name]
        return frames_of(Final, {**fields, **changes}, *arrays)

    def test_a_reference_must_be_that_of_an_array(self) -> None:
        self.assert_refused(self.final({"token_ids": 0}), "token_ids", "array 0 of 0")
        self.assert_refused(self.final({"token_ids": -1}, b""), "token_ids", "between 0")
        self.assert_refused(self.final({"token_ids": [1]}, b""), "token_ids", "whole number")
        self.assert_refused(self.final({"token_ids": 1 << 40}, b""), "token_ids", "between 0")

    def test_an_array_is_given_out_once(self) -> None:
        same = {"token_ids": 0, "logprobs": 0}
        self.assert_refused(self.final(same, bytes(8)), "logprobs", "which another field has")

    def test_an_array_has_whole_words(self) -> None:
        self.assert_refused(self.final({"token_ids": 0}, bytes(7)), "token_ids", "multiple of 4")

    def test_arrays_may_be_empty_and_left_over(self) -> None:
        final = decode(self.final({"token_ids": 0}, b"", bytes(4))).message
        assert isinstance(final, Final)
        self.assertEqual(final.token_ids, [])

    def test_the_common_array_of_a_list_must_be_used_up(self) -> None:
        fields = msgpack.unpackb(vector("chunk_list_reply")[2])
        fields["chunks"][0]["token_count"] = 2
        fields["token_ids"] = 0
        listed = decode(frames_of(ChunkListReply, fields, bytes(8))).message
        assert isinstance(listed, ChunkListReply)
        self.assertEqual(listed.infos()[0].tokens, 3)
        for size, problem in ((4, "fewer"), (12, "more")):
            self.assert_refused(
                frames_of(ChunkListReply, fields, bytes(size)), "token_ids", problem
            )
        fields["token_counts"] = []
        self.assert_refused(frames_of(ChunkListReply, fields, bytes(8)), "token_counts")


class EncodeTest(unittest.TestCase):
    def assert_refused(self, message: object, field: str, part: str = "") -> None:
        with self.assertRaises(CascadeError) as refused:
            encode(ID, message)
        error = refused.exception
        self.assertEqual((error.code, error.field), ("invalid_argument", field), error)
        self.assertIn(part, error.message)

    def test_values_of_other_types_are_named(self) -> None:
        bad: Any
        for bad in ("5", 1.5, True, None):
            self.assert_refused(GenerateRequest(prompt="x", max_tokens=bad), "max_tokens")
        for bad in ("0.5", True, [1]):
            sampling = Sampling(temperature=bad)
            self.assert_refused(
                GenerateRequest(prompt="x", sampling=sampling), "sampling.temperature"
            )
        for bad in (5, b"bytes", ["x"]):
            self.assert_refused(GenerateRequest(prompt=bad), "prompt", "must be a string")
        for bad in ("x", 5, {"role": "user"}):
            self.assert_refused(GenerateRequest(messages=bad), "messages", "must be a list")
        bad = [{"role": "user", "content": "x"}]
        self.assert_refused(GenerateRequest(messages=bad), "messages[0]", "must be a ChatMessage")
        bad = "abc"
        self.assert_refused(GenerateRequest(prompt="x", stop=bad), "stop", "must be a list")
        self.assert_refused(CancelRequest(b"short"), "target")

    def test_names_must_be_known(self) -> None:
        bad: Any
        for bad in ("context", "OTHER", 5, None, []):
            self.assert_refused(ChunkPut(bad, "x"), "type", "must be one of SYSTEM_PROMPT, CONTEXT")
        name: Any = "CONTEXT"
        self.assertEqual(
            encode(ID, ChunkPut(name, "x")), encode(ID, ChunkPut(ChunkType.CONTEXT, "x"))
        )

    def test_numbers_must_fit_their_fields(self) -> None:
        self.assert_refused(GenerateRequest(prompt="x", max_tokens=1 << 31), "max_tokens")
        negative = Sampling(seed=-1)
        self.assert_refused(GenerateRequest(prompt="x", sampling=negative), "sampling.seed")
        bias = Sampling(logit_bias=[LogitBias(1 << 40, 0.0)])
        self.assert_refused(
            GenerateRequest(prompt="x", sampling=bias), "sampling.logit_bias[0].token"
        )
        huge: Any = 10**400
        self.assert_refused(
            GenerateRequest(prompt="x", sampling=Sampling(top_p=huge)), "sampling.top_p"
        )
        for ids in ([1 << 31], [1.5], ["x"], "abc", b"abcd", 5):
            bad: Any = ids
            self.assert_refused(ChunkPut(ChunkType.CONTEXT, token_ids=bad), "token_ids")

    def test_numbers_of_other_libraries_are_taken(self) -> None:
        class Three:
            def __index__(self) -> int:
                return 3

        three: Any = Three()
        taken = encode(ID, GenerateRequest(prompt="x", max_tokens=three))
        self.assertEqual(taken, encode(ID, GenerateRequest(prompt="x", max_tokens=3)))

    def test_lone_surrogates_cannot_be_sent(self) -> None:
        self.assert_refused(ChunkPut(ChunkType.CONTEXT, "a\udcff"), "text", "at character 1")
        self.assert_refused(
            GenerateRequest(messages=[ChatMessage("user", "\ud800")]), "messages[0].content"
        )

    def test_every_code_point_arrives(self) -> None:
        text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000, 7)]))
        put = decode(encode(ID, ChunkPut(ChunkType.CONTEXT, text))).message
        assert isinstance(put, ChunkPut)
        self.assertEqual(put.text, text)

    def test_sizes_are_bounded(self) -> None:
        self.assert_refused(ChunkPut(ChunkType.CONTEXT, "x" * ((16 << 20) + 1)), "text")
        texts = [ChunkRef(ChunkType.CONTEXT, text="x" * (15 << 20))] * 5
        self.assert_refused(GenerateRequest(chunks=texts), "frames", "the limit of 67108864")

    def test_what_is_empty_or_absent_does_not_travel(self) -> None:
        body = msgpack.unpackb(encode(ID, GenerateRequest(prompt=""))[2])
        self.assertEqual(body["prompt"], "")
        absent = ("chunks", "messages", "stop", "session", "thinking", "reasoning_effort")
        for name in (*absent, "output_name"):
            self.assertNotIn(name, body)

    def test_numbers_that_are_none_are_sent_as_they_are(self) -> None:
        sampling = Sampling(temperature=math.nan, top_p=math.inf)
        sent = decode(encode(ID, GenerateRequest(prompt="x", sampling=sampling))).message
        assert isinstance(sent, GenerateRequest)
        self.assertTrue(math.isnan(sent.sampling.temperature or 0))
        self.assertEqual(sent.sampling.top_p, math.inf)


class RandomTest(unittest.TestCase):
    def test_damaged_messages_are_decoded_or_refused(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)
        vectors = [vector_frames(path) for path in sorted(VECTORS.glob("*.bin"))]
        decoded = refused = 0
        for _ in range(20_000):
            frames = damaged(draw, draw.choice(vectors))
            try:
                encode(ID, decode(frames).message)
                decoded += 1
            except CascadeError as error:
                self.assertIn(error.code, ("invalid_argument", "unsupported"), seed)
                self.assertTrue(error.field, seed)
                refused += 1
        self.assertGreater(min(decoded, refused), 1_000, seed)

    def test_random_requests_arrive_as_they_were(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)
        for _ in range(500):
            request = GenerateRequest(
                messages=[
                    ChatMessage(draw.choice(["user", "tool"]), random_text(draw), verbatim=True)
                    for _ in range(draw.randrange(5))
                ],
                max_tokens=draw.getrandbits(31),
                sampling=Sampling(
                    temperature=draw.choice([None, draw.random()]),
                    seed=draw.choice([None, draw.getrandbits(64)]),
                    logit_bias=[LogitBias(i, draw.uniform(-100, 100)) for i in range(3)],
                ),
                stop=[random_text(draw) for _ in range(draw.randrange(3))],
                thinking=draw.choice([None, True, False]),
                reasoning_effort=draw.choice([None, "low", "high"]),
                output_ttl_ms=draw.choice([None, draw.getrandbits(63)]),
            )
            self.assertEqual(decode(encode(ID, request)).message, request, seed)
            put = ChunkPut(
                ChunkType.CONTEXT,
                token_ids=[draw.getrandbits(32) - (1 << 31) for _ in range(draw.randrange(50))],
            )
            self.assertEqual(decode(encode(ID, put)).message, put, seed)


def random_text(draw: random.Random) -> str:
    return "".join(draw.choice("aß世🙂\0\n") for _ in range(draw.randrange(40)))


def damaged(draw: random.Random, whole: list[bytes]) -> list[bytes]:
    frames = [bytearray(frame) for frame in whole]
    for _ in range(draw.randint(1, 3)):
        frame = draw.choice(frames)
        kind = draw.randrange(6)
        if kind == 0:
            frames.insert(draw.randrange(len(frames) + 1), bytearray(draw.randbytes(4)))
        elif kind == 1 and len(frames) > 1:
            frames.remove(frame)
        elif kind == 2:
            del frame[draw.randrange(len(frame) + 1) :]
        elif frame:
            frame[draw.randrange(len(frame))] = draw.randrange(256)
    return [bytes(frame) for frame in frames]


class MessageTest(unittest.TestCase):
    def test_messages_say_what_is_in_them(self) -> None:
        self.assertEqual(repr(Miss()).replace("<MissReason.NONE: 'none'>", "none"),
                         "Miss(reason=none, position=0, known_token=-1)")
        session = decode(vector("session_reply")).message
        assert isinstance(session, SessionReply)
        self.assertEqual([turn.output_id for turn in session.turns], ["output_01", "output_02"])
        self.assertEqual(ChunkSearch("a b").limit, 20)


if __name__ == "__main__":
    unittest.main()
