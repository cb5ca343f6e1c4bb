"""unpack_map(): every limit of the protocol, and memory that follows the bytes that are there."""

from __future__ import annotations

import random
import tracemalloc
import unittest
import unittest.mock

import msgpack

from cascade_llm.packed import (
    ARRAY_ELEMENTS_MAX,
    DEPTH_MAX,
    MAP_KEYS_MAX,
    VALUES_MAX,
    PackedError,
    TwiceKeyed,
    unpack_map,
)
from support import new_seed


def array_of(count: int, element: bytes = b"\xc0") -> bytes:
    return b"\xdd" + count.to_bytes(4, "big") + element * count


def map_of(value: bytes) -> bytes:
    return b"\x81\xa1k" + value


class UnpackTest(unittest.TestCase):
    def assert_refused(self, document: bytes, problem: str) -> None:
        with self.assertRaises(PackedError) as refused:
            unpack_map(document)
        self.assertIn(problem, str(refused.exception))

    def test_all_kinds_of_values_come_out(self) -> None:
        values = {
            "nil": None,
            "bools": [True, False],
            "ints": [0, 127, 128, 1 << 16, (1 << 64) - 1, -1, -32, -33, -(1 << 63)],
            "floats": [0.5, -1e300],
            "strings": ["", "a" * 31, "b" * 32, "c" * 256, "d" * 70_000, "ü世界"],
            "bytes": [b"", b"\xff" * 300, b"x" * 70_000],
            "maps": [{}, {str(i): i for i in range(200)}],
            "arrays": [[], list(range(70_000))],
        }
        self.assertEqual(unpack_map(msgpack.packb(values)), values)

    def test_extensions_are_passed_over(self) -> None:
        for size in (1, 2, 4, 8, 16, 17, 300, 70_000):
            packed = msgpack.packb({"k": msgpack.ExtType(5, b"x" * size), "last": 1})
            self.assertEqual(unpack_map(packed)["last"], 1)

    def test_what_is_no_map_is_refused(self) -> None:
        for document in (b"\xc0", b"\x01", b"\x90", b"\xa1a", b"\xc4\x01a", array_of(3)):
            self.assert_refused(document, "is not a map")

    def test_truncated_documents_are_refused_wherever_they_end(self) -> None:
        whole = msgpack.packb(
            {"a": [1, "text", b"bytes", 2.5], "m": {"x": None}, "long": "y" * 300, "i": 1 << 40}
        )
        unpack_map(whole)
        for size in range(len(whole)):
            with self.assertRaises(PackedError, msg=f"{size} bytes"):
                unpack_map(whole[:size])

    def test_bytes_behind_the_map_are_refused(self) -> None:
        self.assert_refused(b"\x80\xc0", "has 1 bytes after its map")

    def test_the_byte_that_means_nothing_is_refused(self) -> None:
        self.assert_refused(map_of(b"\xc1"), "not valid MessagePack at byte 3")

    def test_keys_that_are_no_strings_are_refused(self) -> None:
        for key in (b"\x01", b"\xc0", b"\xc4\x01a", b"\x80", b"\xcb" + bytes(8)):
            self.assert_refused(b"\x81" + key + b"\xc0", "a key that is not a string")

    def test_a_key_twice_is_told_to_whoever_reads_the_map(self) -> None:
        twice = unpack_map(b"\x82\xa1a\x01\xa1a\x02")
        self.assertIsInstance(twice, TwiceKeyed)
        inner = unpack_map(map_of(b"\x82\xa1b\x01\xa1b\x02"))["k"]
        self.assertEqual(inner.key, "b")
        later = unpack_map(b"\x84\xa1a\x01\xa1b\x01\xa1c\x01\xa1b\x02")
        assert isinstance(later, TwiceKeyed)
        self.assertEqual(later.key, "b")

    def test_strings_that_are_not_utf8_have_lone_surrogates(self) -> None:
        for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
            value = unpack_map(map_of(bytes([0xA0 + len(text)]) + text))["k"]
            with self.assertRaises(UnicodeEncodeError):
                value.encode()

    def test_depth_is_bounded(self) -> None:
        deepest = map_of(b"\x91" * (DEPTH_MAX - 1) + b"\xc0")
        unpack_map(deepest)
        self.assert_refused(map_of(b"\x91" * DEPTH_MAX + b"\xc0"), "nested deeper than 16")
        self.assert_refused(map_of(b"\x91" * (DEPTH_MAX - 1) + b"\x90"), "nested deeper than 16")
        self.assert_refused(b"\x81\xa1k" * 100_000 + b"\xc0", "nested deeper than 16")

    def test_keys_elements_and_values_are_bounded(self) -> None:
        keys = b"".join(msgpack.packb(str(i)) + b"\xc0" for i in range(MAP_KEYS_MAX + 1))
        self.assert_refused(b"\xde\x01\x01" + keys, "more than 256 keys")
        unpack_map(map_of(array_of(ARRAY_ELEMENTS_MAX)))
        self.assert_refused(map_of(array_of(ARRAY_ELEMENTS_MAX + 1)), "more than 1048576 elements")
        many = array_of(VALUES_MAX // 4)
        quarters = b"".join(b"\xa1" + key + many for key in (b"a", b"b", b"c", b"d"))
        self.assert_refused(b"\x84" + quarters, "more than 2097152 values")

    def test_every_value_counts(self) -> None:
        with unittest.mock.patch("cascade_llm.packed.VALUES_MAX", 5):
            self.assertEqual(unpack_map(map_of(b"\x92\x01\x02")), {"k": [1, 2]})
            self.assert_refused(map_of(b"\x93\x01\x02\x03"), "more than 5 values")

    def test_a_claimed_length_takes_no_memory(self) -> None:
        claims = [
            b"\xdd\x00\x10\x00\x00" * DEPTH_MAX,  # arrays in arrays
            b"\xdb\xff\xff\xff\xff",  # a string
            b"\xc6\xff\xff\xff\xff",  # a byte string
            b"\xc9\xff\xff\xff\xff\x05",  # an extension
            b"\xdf\xff\xff\xff\xff",  # a map
        ]
        for claim in claims:
            tracemalloc.start()
            with self.assertRaises(PackedError):
                unpack_map(map_of(claim))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertLess(peak, 100_000, claim[:8])

    def test_random_bytes_are_unpacked_or_refused(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)
        whole = msgpack.packb({"a": [1, {"b": "text", "c": [None, 2.5, b"x"]}], "d": "y" * 40})
        unpacked = 0
        for _ in range(20_000):
            document = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                document[draw.randrange(len(document))] = draw.randrange(256)
            try:
                self.assertIsInstance(unpack_map(bytes(document)), dict)
                unpacked += 1
            except PackedError:
                pass
        self.assertGreater(unpacked, 100, seed)

    def test_what_is_unpacked_is_what_msgpack_alone_makes_of_it(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)
        for _ in range(2_000):
            value = {"root": random_value(draw, 5)}
            self.assertEqual(unpack_map(msgpack.packb(value)), value, seed)


def random_value(draw: random.Random, depth: int) -> object:
    kind = draw.randrange(8 if depth else 6)
    if kind == 0:
        return draw.choice([None, True, False])
    if kind == 1:
        return draw.getrandbits(draw.choice([6, 8, 16, 32, 64]))
    if kind == 2:
        return -draw.getrandbits(draw.choice([5, 8, 16, 32, 63])) - 1
    if kind == 3:
        return draw.uniform(-1e6, 1e6)
    if kind == 4:
        return "äx"[draw.randrange(2)] * draw.choice([0, 5, 31, 32, 300])
    if kind == 5:
        return bytes(draw.choice([0, 5, 300]))
    count = draw.choice([0, 3, 15, 16, 40])
    if kind == 6:
        return [random_value(draw, depth - 3) if depth >= 3 else 1 for _ in range(count)]
    return {f"k{i}": random_value(draw, depth - 3) if depth >= 3 else 2 for i in range(count)}


if __name__ == "__main__":
    unittest.main()
