"""Grammars: what is sent, and what a real daemon answers."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

import msgpack

from cascade_llm import (
    CascadeError,
    ChatMessage,
    ChunkedLLM,
    Client,
    Final,
    GenerateRequest,
    Grammar,
    GrammarKind,
    Sampling,
    SamplingParams,
)
from cascade_llm.frames import encode
from support import DaemonTest, new_seed

ID = bytes(16)
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "kind": {"enum": ["Freund", "Feind – ß", None]},
        "codes": {"type": "array", "items": {"pattern": "^[A-Z]{2}-[0-9]$"}, "maxItems": 2},
    },
    "required": ["name", "age", "kind", "codes"],
    "additionalProperties": False,
}


def sent(grammar: Any) -> Any:
    """The field of a request, as it travels."""
    return msgpack.unpackb(encode(ID, GenerateRequest(prompt="x", grammar=grammar))[2])["grammar"]


class SentTest(unittest.TestCase):
    def assert_refused(self, grammar: Any, field: str, part: str) -> None:
        with self.assertRaises(CascadeError) as refused:
            sent(grammar)
        error = refused.exception
        self.assertEqual((error.code, error.field), ("invalid_argument", field), error)
        self.assertIn(part, error.message)

    def test_a_schema_travels_as_text_in_its_own_order(self) -> None:
        schema = {"type": "object", "properties": {"z": {"const": "ß"}, "a": True}}
        text = '{"type":"object","properties":{"z":{"const":"ß"},"a":true}}'
        self.assertEqual(
            sent(Grammar.json_schema(schema)), {"kind": "json_schema", "schema": text}
        )
        self.assertEqual(sent(Grammar.json_schema({}))["schema"], "{}")
        self.assertEqual(sent(Grammar.json_schema(True))["schema"], "true")
        part = {"sequence": [{"text": "a"}]}
        self.assertEqual(
            sent(Grammar.parts(part)), {"kind": "parts", "schema": '{"sequence":[{"text":"a"}]}'}
        )

    def test_text_is_sent_as_it_is(self) -> None:
        self.assertEqual(sent(Grammar.json_schema(' {"a": 1} '))["schema"], ' {"a": 1} ')

    def test_any_object_has_no_schema(self) -> None:
        self.assertEqual(sent(Grammar.json_object()), {"kind": "json_object"})

    def test_what_is_no_grammar_or_no_json_is_named(self) -> None:
        self.assert_refused({"kind": "json_object"}, "grammar", "must be a Grammar, got dict")
        kind: Any = "yaml"
        self.assert_refused(Grammar(kind), "grammar.kind", "must be one of json_object")
        circle: dict[str, Any] = {}
        circle["not"] = circle
        deep: Any = {}
        for _ in range(100_000):
            deep = {"items": deep}
        bad: list[Any] = [{"const": {1, 2}}, {"const": float("nan")}, circle, deep]
        for schema in bad:
            self.assert_refused(Grammar.json_schema(schema), "grammar.schema", "as JSON")
        # No recursion when it is freed, either.
        while deep:
            deep = deep["items"]


class AnswerTest(DaemonTest):
    client: Client

    def setUp(self) -> None:
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def assert_person(self, text: str) -> None:
        person = json.loads(text)
        self.assertEqual(list(person), PERSON["required"], text)
        self.assertIsInstance(person["name"], str, text)
        self.assertTrue(1 <= len(person["name"]) <= 20, text)
        self.assertIs(type(person["age"]), int, text)
        self.assertTrue(0 <= person["age"] <= 120, text)
        self.assertIn(person["kind"], PERSON["properties"]["kind"]["enum"], text)
        self.assertLessEqual(len(person["codes"]), 2, text)
        for code in person["codes"]:
            self.assertTrue(not isinstance(code, str) or re.fullmatch("[A-Z]{2}-[0-9]", code), text)

    def test_answers_that_end_are_documents_for_which_the_schema_holds(self) -> None:
        first = new_seed()
        answers = self.client.generate_batch(
            [
                GenerateRequest(
                    messages=[ChatMessage("user", f"Describe person number {i}.")],
                    grammar=Grammar.json_schema(PERSON),
                    thinking=None if i % 2 else False,
                    max_tokens=400,
                    sampling=Sampling(temperature=1.5, top_p=1, top_k=0, seed=first + i),
                )
                for i in range(20)
            ]
        )
        ended = 0
        for answer in answers:
            assert isinstance(answer, Final), answer
            if answer.finish_reason == "stop":
                self.assert_person(answer.text)
                ended += 1
        self.assertGreater(ended, 0)

    def test_parts_are_put_together(self) -> None:
        country = {"any_of": [{"text": "France"}, {"text": "Italy"}]}
        grammar = Grammar.parts({"sequence": [{"text": "Paris is in "}, country, {"text": "!"}]})
        # Thoughts may be longer than an answer may become.
        request = GenerateRequest(
            prompt="Paris?", grammar=grammar, thinking=False, sampling=Sampling(seed=1)
        )
        self.assertIn(
            self.client.generate(request).text, ("Paris is in France!", "Paris is in Italy!")
        )

    def test_any_object_begins_as_one(self) -> None:
        request = GenerateRequest(prompt="x", grammar=Grammar.json_object(), max_tokens=3)
        self.assertTrue(self.client.generate(request).text.startswith("{"))

    def test_the_daemon_names_the_place_that_it_does_not_support(self) -> None:
        bad = [
            (Grammar.json_schema({"items": {"uniqueItems": True}}), "#/items: uniqueItems"),
            (Grammar.json_schema("{"), "not valid JSON"),
            (Grammar(GrammarKind.JSON_OBJECT, {"type": "object"}), "must be empty"),
            (Grammar.parts({"texts": "x"}), ""),
        ]
        for grammar, part in bad:
            with self.assertRaises(CascadeError) as refused:
                self.client.generate(GenerateRequest(prompt="x", grammar=grammar))
            error = refused.exception
            self.assertEqual((error.code, error.field), ("invalid_argument", "grammar.schema"))
            self.assertIn(part, error.message)

    def test_chunked_llm_takes_it_as_a_parameter(self) -> None:
        grammar = Grammar.json_schema({"enum": ["Paris", "Rome"]})
        with ChunkedLLM(self.daemon.endpoint) as llm:
            params = SamplingParams(temperature=0, thinking=False, grammar=grammar)
            output = llm.generate_and_retain_output("", "What is the capital of Italy?", params)
            self.assertIn(json.loads(output["text"]), ("Paris", "Rome"))
            again = llm.generate("x", {"temperature": 0, "grammar": grammar})
            self.assertIn(json.loads(again[0]["text"]), ("Paris", "Rome"))
            with self.assertRaises(CascadeError) as refused:
                llm.generate("x", {"grammar": {"kind": "json_object"}})
            self.assertEqual(refused.exception.field, "grammar")


if __name__ == "__main__":
    unittest.main()
