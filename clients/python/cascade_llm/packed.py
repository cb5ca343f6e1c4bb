"""Checks MessagePack documents from outside against the limits of the protocol, then unpacks
them."""

from __future__ import annotations

from typing import Any

import msgpack

DEPTH_MAX = 16
MAP_KEYS_MAX = 256
ARRAY_ELEMENTS_MAX = 1 << 20
# The largest number of values in a document. An unpacked document takes a multiple of its bytes;
# this bounds the multiple.
VALUES_MAX = 2 << 20

# For each first byte: the bytes of a whole value, if that byte alone decides them; else 0.
_WHOLE = bytearray(256)
# For strings, byte strings, extensions and containers: the bytes of the length after the first
# byte.
_LENGTH = bytearray(256)
_EXTENSION = frozenset((0xC7, 0xC8, 0xC9))
_STRING_KEY = bytearray(256)

for _byte in range(0x80):
    _WHOLE[_byte] = 1
for _byte in range(0xA0, 0xC0):
    _WHOLE[_byte] = 1 + (_byte & 0x1F)
    _STRING_KEY[_byte] = 1
for _byte in range(0xE0, 0x100):
    _WHOLE[_byte] = 1
for _byte in (0xC0, 0xC2, 0xC3):
    _WHOLE[_byte] = 1
for _byte, _size in zip(range(0xCA, 0xD4), (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)):
    _WHOLE[_byte] = 1 + _size
for _byte, _size in {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}.items():
    _WHOLE[_byte] = 2 + _size
for _first in (0xC4, 0xC7, 0xD9):
    _LENGTH[_first], _LENGTH[_first + 1], _LENGTH[_first + 2] = 1, 2, 4
for _first in (0xDC, 0xDE):
    _LENGTH[_first], _LENGTH[_first + 1] = 2, 4
for _byte in (0xD9, 0xDA, 0xDB):
    _STRING_KEY[_byte] = 1


class PackedError(Exception):
    """A fault of a document."""


class TwiceKeyed(dict[str, Any]):
    """A map that has a key twice. Every reader refuses it."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


def unpack_map(document: bytes) -> dict[str, Any]:
    """The map in `document`. Strings that are not UTF-8 get lone surrogates, and maps with a key
    twice become TwiceKeyed. Raises PackedError for everything else: not a map, keys that are not
    strings, truncated, bytes after the map, a limit exceeded.

    The document is walked through once before anything is made of it. So memory grows with the
    bytes that are there, and never with a size that they claim."""
    _check_structure(document)
    try:
        unpacked = msgpack.unpackb(
            document,
            raw=False,
            unicode_errors="surrogateescape",
            strict_map_key=False,
            object_pairs_hook=_map_of,
        )
    except (ValueError, msgpack.UnpackException) as error:
        # The walk does not see everything: for example, an invalid timestamp.
        raise PackedError(f"not valid MessagePack: {error}") from None
    assert isinstance(unpacked, dict)
    return unpacked


def _map_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return TwiceKeyed(key)
        seen.add(key)
    raise AssertionError("a dict has fewer entries only if a key occurs twice")


def _check_structure(document: bytes) -> None:
    """Walks from value to value. `left` values are still to come in the innermost container. In a
    map, where keys and values take turns, a key is next if `left` is even."""
    size = len(document)
    open_containers: list[tuple[int, bool]] = []
    at, values, left, in_map = 0, 0, 1, False
    while True:
        while left == 0:
            if not open_containers:
                if at < size:
                    raise PackedError(f"has {size - at} bytes after its map")
                if at > size:
                    raise PackedError(f"ends within a value, at byte {size}")
                return
            left, in_map = open_containers.pop()
        if at >= size:
            raise PackedError(f"ends within a value, at byte {size}")
        byte = document[at]
        if in_map and not left & 1 and not _STRING_KEY[byte]:
            raise PackedError("a map has a key that is not a string")
        left -= 1
        values += 1
        if values > VALUES_MAX:
            raise PackedError(f"has more than {VALUES_MAX} values")
        whole = _WHOLE[byte]
        if whole and values > 1:
            at += whole
            continue
        at, elements, is_map = _enter(document, at, byte)
        if values == 1 and not is_map:
            raise PackedError("is not a map")
        if elements < 0:
            continue
        if len(open_containers) == DEPTH_MAX:
            raise PackedError(f"is nested deeper than {DEPTH_MAX} levels")
        open_containers.append((left, in_map))
        left, in_map = (2 * elements if is_map else elements), is_map


def _enter(document: bytes, at: int, byte: int) -> tuple[int, int, bool]:
    """For a container: the place after its head, its number of elements, whether it is a map. For
    anything else: the place after its end, and -1 elements."""
    if 0x80 <= byte < 0xA0:
        return at + 1, byte & 0x0F, byte < 0x90
    if _WHOLE[byte]:
        return at + _WHOLE[byte], -1, False
    width = _LENGTH[byte]
    if width == 0:
        raise PackedError(f"not valid MessagePack at byte {at}")
    length = int.from_bytes(document[at + 1 : at + 1 + width], "big")
    at += 1 + width  # if the length is cut off, this is after the end, which is noticed next
    if byte < 0xDC:
        return at + length + (1 if byte in _EXTENSION else 0), -1, False
    is_map = byte >= 0xDE
    if is_map and length > MAP_KEYS_MAX:
        raise PackedError(f"a map has more than {MAP_KEYS_MAX} keys")
    if not is_map and length > ARRAY_ELEMENTS_MAX:
        raise PackedError(f"an array has more than {ARRAY_ELEMENTS_MAX} elements")
    return at, length, is_map
