"""Reads and writes dataclasses as the maps and array frames of messages, by their annotations.

The order of a class's fields is their order on the wire. A field without a default is always there.
One with a default may be absent: it is not sent if it is None, an empty string or an empty list
(for an Optional: if it is None). Errors name the field: ``messages[2].role``.
"""

from __future__ import annotations

import array
import dataclasses
import json
import operator
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from .names import Name
from .packed import TwiceKeyed

# The longest string, in bytes of UTF-8.
TEXT_BYTES_MAX = 16 << 20


@dataclasses.dataclass(frozen=True)
class IntRange:
    """Annotates an int with the range of numbers that its field can hold."""

    lowest: int
    highest: int


@dataclasses.dataclass(frozen=True)
class Words:
    """Annotates a list of numbers that is sent as 32-bit words in a frame of its own; `code` is
    that of the array module."""

    code: str


@dataclasses.dataclass(frozen=True)
class ByteCount:
    """Annotates bytes with their number."""

    count: int


@dataclasses.dataclass(frozen=True)
class JsonText:
    """Annotates a value that is sent as JSON text: a string is that text, anything else is written
    as JSON."""


Int32 = Annotated[int, IntRange(-(1 << 31), (1 << 31) - 1)]
Int64 = Annotated[int, IntRange(-(1 << 63), (1 << 63) - 1)]
Uint32 = Annotated[int, IntRange(0, (1 << 32) - 1)]
Uint64 = Annotated[int, IntRange(0, (1 << 64) - 1)]
RequestId = Annotated[bytes, ByteCount(16)]
TokenIds = Annotated[list[int], Words("i")]
Floats = Annotated[list[float], Words("f")]
JsonArray = Annotated[str | Sequence[Mapping[str, Any]], JsonText()]
JsonValue = Annotated[str | bool | Mapping[str, Any], JsonText()]


class Problem(Exception):
    """A fault of a value. The path to the value is put together as the exception passes up."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path = ""

    def inside(self, name: str) -> Problem:
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = name + joint + self.path
        return self


class ArrayFrames:
    """The array frames of a received message. Each is given out once: otherwise a few bytes that
    refer to one frame again and again would take unbounded memory."""

    def __init__(self, frames: Sequence[bytes]) -> None:
        self._frames: list[bytes | None] = list(frames)

    def take(self, number: int) -> bytes:
        if number >= len(self._frames):
            raise Problem(f"refers to array {number} of {len(self._frames)}")
        frame = self._frames[number]
        if frame is None:
            raise Problem(f"refers to array {number}, which another field has")
        self._frames[number] = None
        if len(frame) % 4 != 0:
            raise Problem(f"has an array of {len(frame)} bytes, which is not a multiple of 4")
        return frame


_Read = Callable[[Any, ArrayFrames], Any]
_Write = Callable[[Any, list[bytes]], Any]


@dataclasses.dataclass(frozen=True)
class _Codec:
    """How values of one type are read and written. Values for which `travels` is false are not
    sent."""

    read: _Read
    write: _Write
    travels: Callable[[Any], bool] = lambda value: True


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    required: bool
    codec: _Codec


def _read_bool(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise Problem("must be true or false")
    return value


def _int_codec(bounds: IntRange) -> _Codec:
    lowest, highest = bounds.lowest, bounds.highest

    def read(value: Any, _: Any) -> int:
        if type(value) is not int:
            raise Problem("must be a whole number")
        if not lowest <= value <= highest:
            raise Problem(f"must be between {lowest} and {highest}")
        return value

    def write(value: Any, _: Any) -> int:
        # Also accepts objects that act as a whole number, such as numpy's integers.
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise Problem("must be a whole number")
        return read(operator.index(value), _)

    return _Codec(read, write)


def _read_float(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Problem("must be a number")
    return float(value)


def _write_float(value: Any, _: Any) -> float:
    if isinstance(value, (bool, str, bytes)) or not hasattr(type(value), "__float__"):
        raise Problem("must be a number")
    try:
        return float(value)
    except OverflowError:
        raise Problem("is too large a number") from None


def _read_str(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise Problem("must be a string")
    size = len(value)
    if not value.isascii():
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise Problem(f"is not UTF-8 at character {error.start}") from None
    if size > TEXT_BYTES_MAX:
        raise Problem(f"has {size} bytes, more than the limit of {TEXT_BYTES_MAX}")
    return value


def _write_str(value: Any, _: Any) -> str:
    return str(_read_str(value, _))


def _read_bytes(value: Any, _: Any) -> bytes:
    if not isinstance(value, bytes):
        raise Problem("must be a byte string (bin)")
    if len(value) > TEXT_BYTES_MAX:
        raise Problem(f"has {len(value)} bytes, more than the limit of {TEXT_BYTES_MAX}")
    return value


def _bytes_codec(size: ByteCount) -> _Codec:
    def read(value: Any, _: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != size.count:
            raise Problem(f"must be a byte string (bin) of {size.count} bytes")
        return value

    return _Codec(read, read)


def _name_codec(names: type[Name]) -> _Codec:
    def read(value: Any, _: Any) -> Name:
        return names.from_wire(_read_str(value, _))

    def write(value: Any, _: Any) -> str:
        if value not in list(names):
            known = ", ".join(str(name) for name in names)
            raise Problem(f"must be one of {known}, got {str(value)[:40]!r}")
        return str(value)

    return _Codec(read, write)


def _has_elements(value: Any) -> bool:
    """Also true for a value that is not a list: it is refused when it is written."""
    return value is not None and not (hasattr(type(value), "__len__") and len(value) == 0)


def _write_json(value: Any, _: Any) -> str:
    if isinstance(value, str):
        return _write_str(value, _)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise Problem(f"cannot be written as JSON: {error}") from None
    return _write_str(text, _)


_JSON = _Codec(_read_str, _write_json, lambda value: value not in (None, "", [], ()))


def _words_codec(words: Words) -> _Codec:
    code = words.code
    assert array.array(code).itemsize == 4, "the protocol's words have 32 bits"

    def read(value: Any, arrays: ArrayFrames) -> list[Any]:
        numbers = array.array(code, arrays.take(_ARRAY_NUMBER.read(value, arrays)))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist()

    def write(value: Any, frames: list[bytes]) -> int:
        if isinstance(value, (str, bytes)):
            raise Problem("must be a list of numbers")
        try:
            numbers = array.array(code, value)
        except (TypeError, OverflowError) as error:
            raise Problem(f"must be a list of numbers of 32 bits: {error}") from None
        if sys.byteorder == "big":
            numbers.byteswap()
        frames.append(numbers.tobytes())
        return len(frames) - 1

    return _Codec(read, write, _has_elements)


def _list_codec(element: _Codec) -> _Codec:
    def each(value: Any, change: Callable[[Any, Any], Any], arrays: Any) -> list[Any]:
        out = []
        for item in value:
            try:
                out.append(change(item, arrays))
            except Problem as problem:
                raise problem.inside(f"[{len(out)}]")
        return out

    def read(value: Any, arrays: ArrayFrames) -> list[Any]:
        if not isinstance(value, list):
            raise Problem("must be an array")
        return each(value, element.read, arrays)

    def write(value: Any, frames: list[bytes]) -> list[Any]:
        if isinstance(value, (str, bytes, dict)) or not isinstance(value, Sequence):
            raise Problem("must be a list")
        return each(value, element.write, frames)

    return _Codec(read, write, _has_elements)


def _struct_codec(cls: type[Any]) -> _Codec:
    def read(value: Any, arrays: ArrayFrames) -> Any:
        return read_fields(cls, value, arrays)

    def write(value: Any, frames: list[bytes]) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise Problem(f"must be a {cls.__name__}, got {type(value).__name__}")
        return write_fields(value, frames)

    return _Codec(read, write)


_ARRAY_NUMBER = _int_codec(IntRange(0, (1 << 32) - 1))
_SCALARS: dict[Any, _Codec] = {
    bool: _Codec(_read_bool, _read_bool),
    float: _Codec(_read_float, _write_float),
    str: _Codec(_read_str, _write_str, lambda value: value is not None and value != ""),
    bytes: _Codec(_read_bytes, _read_bytes),
}


def _codec_of(hint: Any) -> _Codec:
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        mark = arguments[1]
        if isinstance(mark, JsonText):
            return _JSON
        if isinstance(mark, ByteCount):
            return _bytes_codec(mark)
        return _int_codec(mark) if isinstance(mark, IntRange) else _words_codec(mark)
    if origin in (typing.Union, types.UnionType):
        inner = _codec_of(next(one for one in arguments if one is not type(None)))
        return _Codec(inner.read, inner.write, lambda value: value is not None)
    if origin is list:
        return _list_codec(_codec_of(arguments[0]))
    if isinstance(hint, type) and issubclass(hint, Name):
        return _name_codec(hint)
    assert dataclasses.is_dataclass(hint), f"a field of {hint} has no form on the wire"
    return _struct_codec(hint)


_fields_by_class: dict[type[Any], tuple[_Field, ...]] = {}


def _fields_of(cls: type[Any]) -> tuple[_Field, ...]:
    if cls not in _fields_by_class:
        hints = typing.get_type_hints(cls, include_extras=True)
        missing = dataclasses.MISSING
        _fields_by_class[cls] = tuple(
            _Field(
                field.name,
                field.default is missing and field.default_factory is missing,
                _codec_of(hints[field.name]),
            )
            for field in dataclasses.fields(cls)
        )
    return _fields_by_class[cls]


_T = TypeVar("_T")


def read_fields(cls: type[_T], value: Any, arrays: ArrayFrames) -> _T:
    """The message or struct that a map describes. Keys that `cls` does not have are ignored; nil
    counts as absent. Raises Problem."""
    if not isinstance(value, dict):
        raise Problem("must be a map")
    if isinstance(value, TwiceKeyed):
        raise Problem("occurs twice").inside(value.key[:40])
    arguments = {}
    for field in _fields_of(cls):
        item = value.get(field.name)
        if item is None:
            if field.required:
                raise Problem("is missing").inside(field.name)
            continue
        try:
            arguments[field.name] = field.codec.read(item, arrays)
        except Problem as problem:
            raise problem.inside(field.name)
    return cls(**arguments)


def write_fields(message: Any, frames: list[bytes]) -> dict[str, Any]:
    """The map of a message or struct; its arrays are appended to `frames`. Raises Problem if a
    field cannot hold its value."""
    out = {}
    for field in _fields_of(type(message)):
        value = getattr(message, field.name)
        try:
            if field.required or field.codec.travels(value):
                out[field.name] = field.codec.write(value, frames)
        except Problem as problem:
            raise problem.inside(field.name)
    return out
