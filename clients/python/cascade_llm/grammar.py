"""The form that an answer must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .fields import JsonValue
from .names import GrammarKind


@dataclass(frozen=True)
class Grammar:
    """Made by one of its three methods. docs/constrained_output.md says which schemas can be used;
    the daemon refuses others (field "grammar.schema") before anything is computed.

        GenerateRequest(messages=…, grammar=Grammar.json_schema({"type": "integer"}))

    An answer whose finish_reason is "stop" has that form, unless a stop string cut it."""

    kind: GrammarKind
    schema: JsonValue = ""  # a str is JSON text

    @classmethod
    def json_object(cls) -> Grammar:
        """Any JSON object."""
        return cls(GrammarKind.JSON_OBJECT)

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | bool | str) -> Grammar:
        """A document that satisfies the schema, with its properties in the schema's order. `schema`
        is a dict or JSON text."""
        return cls(GrammarKind.JSON_SCHEMA, schema)

    @classmethod
    def parts(cls, parts: Mapping[str, Any] | str) -> Grammar:
        """Texts and JSON documents put together: {"sequence": [{"text": "Age: "}, …]}."""
        return cls(GrammarKind.PARTS, parts)
