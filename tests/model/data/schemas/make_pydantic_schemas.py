#!/usr/bin/env python3
"""Writes pydantic.json: what pydantic's json_schema() makes of types and models, for validation
and, where that differs, for serialization ("@output").

Run with a Python that has pydantic 2:  python3 make_pydantic_schemas.py >pydantic.json
"""
import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import pathlib
import re
import uuid
from typing import (Annotated, Any, Dict, FrozenSet, List, Literal, NamedTuple, Optional, Set,
                    Tuple, Union)

import pydantic
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter
from typing_extensions import NotRequired, TypedDict


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """An address."""
    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$", description="Zip", examples=["12345"])]
    country: Literal["DE"] = "DE"


class User(BaseModel):
    model_config = ConfigDict(title="The user", extra="forbid")
    id: int
    name: str = Field(alias="fullName", min_length=1)
    email: Optional[str] = None
    tags: List[str] = []
    address: Address
    others: Dict[str, Address] = {}
    color: Color = Color.RED
    born: Optional[datetime.date] = None
    score: float = Field(0.5, ge=0, le=1)
    ratio: decimal.Decimal = decimal.Decimal("1.0")
    languages: Set[Literal["de", "en", "fr"]] = set()


class Node(BaseModel):
    value: int
    children: List["Node"] = []
    parent: Optional["Node"] = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    bark: str


class Pet(BaseModel):
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]
    any: Union[Cat, Dog]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class OpenOfIntegers(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: Dict[str, int]
    a: int


class Numbers(RootModel[List[int]]):
    pass


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Typed(TypedDict):
    a: NotRequired[int]
    b: str


@dataclasses.dataclass
class Data:
    a: int
    b: str = "x"


class Fields(BaseModel):
    a: int = Field(deprecated=True)
    b: int = Field(json_schema_extra={"x-unit": "m"})

    @pydantic.computed_field
    @property
    def c(self) -> str:
        return "x"


TYPES = {
    "str": str, "int": int, "float": float, "bool": bool, "none": type(None), "bytes": bytes,
    "decimal": decimal.Decimal, "date": datetime.date, "datetime": datetime.datetime,
    "time": datetime.time, "timedelta": datetime.timedelta, "uuid": uuid.UUID,
    "uuid4": pydantic.UUID4, "path": pathlib.Path, "file": pydantic.FilePath, "any": Any,
    "pattern": re.Pattern, "ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address,
    "network": ipaddress.IPv4Network, "interface": ipaddress.IPv6Interface,
    "any_ip": pydantic.IPvAnyAddress, "url": pydantic.AnyUrl, "http_url": pydantic.HttpUrl,
    "dsn": pydantic.PostgresDsn, "secret": pydantic.SecretStr, "json": pydantic.Json[int],
    "base64": pydantic.Base64Str, "base64url": pydantic.Base64UrlStr,
    "byte_size": pydantic.ByteSize, "positive": pydantic.PositiveInt,
    "not_negative": pydantic.NonNegativeFloat, "list": List[int], "set": Set[int],
    "any_set": FrozenSet[Any], "set_of_enum": Set[Color], "set_of_bools": Set[bool],
    "dict": Dict[str, int], "dict_of_any": dict, "dict_by_int": Dict[int, str],
    "dict_by_enum": Dict[Literal["a", "b"], int], "dict_by_uuid": Dict[uuid.UUID, int],
    "dict_by_date": Dict[datetime.date, int],
    "dict_by_pattern": Dict[Annotated[str, Field(pattern="^x")], int],
    "dict_by_length": Dict[Annotated[str, Field(min_length=1, max_length=8)], int],
    "dict_limits": Annotated[Dict[str, int], Field(min_length=1, max_length=3)],
    "tuple": Tuple[int, str], "deque": collections.deque, "optional": Optional[int],
    "union": Union[int, str, None], "literal": Literal["a", 1, None, True],
    "string_limits": Annotated[str, Field(min_length=1, max_length=5, pattern=r"^[a-z]+$")],
    "int_limits": Annotated[int, Field(gt=0, lt=10, multiple_of=3)],
    "float_limits": Annotated[float, Field(ge=0.5, le=9.5, multiple_of=0.5)],
    "decimal_limits": pydantic.condecimal(max_digits=5, decimal_places=2),
    "decimal_cents": Annotated[decimal.Decimal, Field(gt=0, decimal_places=2)],
    "list_limits": Annotated[List[int], Field(min_length=1, max_length=3)],
    "set_of_one": Annotated[Set[int], Field(max_length=1)],
    "enum": Color, "int_enum": Level, "model": User, "recursive": Node, "discriminated": Pet,
    "open": Open, "open_of_integers": OpenOfIntegers, "root": Numbers, "named_tuple": Pair,
    "typed_dict": Typed, "dataclass": Data, "fields": Fields,
}


def main():
    schemas = {}
    for name, kind in TYPES.items():
        adapter = TypeAdapter(kind)
        schemas[name] = adapter.json_schema()
        output = adapter.json_schema(mode="serialization")
        if output != schemas[name]:
            schemas[name + "@output"] = output
    lines = [f"{json.dumps(name)}: {json.dumps(schema, separators=(',', ':'))}"
             for name, schema in schemas.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


main()
