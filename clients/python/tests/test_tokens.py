"""Tokens, texts, prompts, and tools: what is sent, and what a real daemon answers."""

from __future__ import annotations

import json
import random
import tempfile
import unicodedata
import unittest
from pathlib import Path
from typing import Any

import msgpack

from cascade_llm import (
    Accepted,
    ApplyTemplateReply,
    CascadeError,
    ChatMessage,
    ChunkType,
    Client,
    DetokenizeReply,
    Final,
    GenerateRequest,
    PrivateDaemon,
    Sampling,
    TextStart,
)
from cascade_llm.frames import Envelope, encode
from cascade_llm.replies import TokenizeReply
from cascade_llm.requests import ApplyTemplateRequest, DetokenizeRequest, TokenizeRequest
from fake_client import ClientTest
from support import DEMO_MODEL, DaemonTest, Reply, new_seed

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL: dict[str, Any] = {
    "id": "call_1",
    "function": {"name": "weather", "arguments": {"city": "Köln"}},
}
# The demo model's own template knows of no tools.
TEMPLATE = (
    "{% set nl = '\\n' %}"
    "{% for tool in tools or [] %}[{{ tool.function.name }}"
    "{% for name in tool.function.parameters.properties %} {{ name }}{% endfor %}]{% endfor %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}"
    "{% if message.tool_call_id %} {{ message.tool_call_id }} {{ message.name }}{% endif %}{{ nl }}"
    "{{ message.content }}"
    "{% for call in message.tool_calls or [] %}"
    "<{{ call.id }} {{ call.function.name }} {{ call.function.arguments.city }}>{% endfor %}"
    "<|im_end|>{{ nl }}{% endfor %}<|im_start|>assistant{{ nl }}"
)


def conversation(calls: Any) -> list[ChatMessage]:
    return [
        ChatMessage("user", "Weather in Köln?"),
        ChatMessage("assistant", "", tool_calls=calls),
        ChatMessage("tool", "rain", tool_call_id="call_1", name="weather"),
    ]


class SentTest(ClientTest):
    def test_each_call_sends_what_it_was_given_and_returns_the_answer(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, TokenizeRequest):
                reply(TokenizeReply([5, 6]))
            elif isinstance(envelope.message, DetokenizeRequest):
                reply(DetokenizeReply("ab", ["a", "b"]))
            else:
                reply(ApplyTemplateReply("user: x", [7]))

        daemon, client = self.start(handle)
        self.assertEqual(client.tokenize("ab", beginning=True), [5, 6])
        whole = client.detokenize((5, 6), skip_special=True, pieces=True)
        self.assertEqual(whole, DetokenizeReply("ab", ["a", "b"]))
        messages = [ChatMessage("user", "x")]
        prompt = client.apply_template(
            messages, thinking=False, reasoning_effort="low", tools=[WEATHER]
        )
        self.assertEqual(prompt, ApplyTemplateReply("user: x", [7]))
        self.assertEqual(
            daemon.received,
            [
                TokenizeRequest("ab", True),
                DetokenizeRequest([5, 6], True, True),
                ApplyTemplateRequest(
                    messages,
                    False,
                    json.dumps([WEATHER], separators=(",", ":")),
                    reasoning_effort="low",
                ),
            ],
        )

    def test_tools_and_calls_are_json_text_or_are_not_there(self) -> None:
        def body(tools: Any, calls: Any) -> Any:
            messages = conversation(calls)
            return msgpack.unpackb(
                encode(bytes(16), GenerateRequest(messages=messages, tools=tools))[2]
            )

        for given in ([WEATHER], (WEATHER,), json.dumps([WEATHER])):
            sent = body(given, [CALL])
            self.assertEqual(json.loads(sent["tools"]), [WEATHER])
            self.assertEqual(json.loads(sent["messages"][1]["tool_calls"]), [CALL])
            self.assertEqual(sent["messages"][2]["tool_call_id"], "call_1")
        for nothing in ("", [], (), None):
            sent = body(nothing, nothing)
            self.assertNotIn("tools", sent)
            self.assertNotIn("tool_calls", sent["messages"][1])
        with self.assertRaises(CascadeError) as refused:
            body([WEATHER], [{1, 2}])
        self.assertEqual(refused.exception.field, "messages[1].tool_calls")


class TokensTest(DaemonTest):
    client: Client

    def setUp(self) -> None:
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def assert_refused(self, field: str, work: Any) -> None:
        with self.assertRaises(CascadeError) as refused:
            work()
        error = refused.exception
        self.assertEqual((error.code, error.field), ("invalid_argument", field), error)

    def test_a_text_is_the_same_when_it_comes_back(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)
        alphabet = "ab Zß世🙂\u0301\u202e\0\n\t<|im_end|>"
        for _ in range(50):
            drawn = "".join(draw.choice(alphabet) for _ in range(draw.randint(1, 60)))
            text = unicodedata.normalize("NFC", drawn)  # as this model's tokenizer does
            ids = self.client.tokenize(text)
            self.assertEqual(self.client.detokenize(ids), DetokenizeReply(text), seed)
            self.assertEqual(self.client.detokenize(ids, skip_special=True).text, text, seed)

    def test_pieces_are_those_of_the_tokens(self) -> None:
        ids = self.client.tokenize("The capital of 世")
        reply = self.client.detokenize(ids, pieces=True, piece_bytes=True)
        self.assertEqual(b"".join(reply.piece_bytes).decode(), reply.text)
        self.assertEqual(len(reply.pieces), len(ids))
        self.assertTrue(reply.text.startswith(reply.pieces[0]))
        self.assertIn("\ufffd", "".join(reply.pieces))
        self.assertEqual(self.client.detokenize(ids).pieces, [])
        for start in TextStart:
            self.assertEqual(self.client.detokenize(ids, text_start=start).text, reply.text)
        with self.assertRaisesRegex(CascadeError, "text_start: must be one of first, none, each"):
            self.client.detokenize(ids, text_start="never")

    def test_it_tokenizes_as_chunks_and_prompts_are(self) -> None:
        text = "What is the capital of France?"
        chunk = self.client.put_chunk(ChunkType.CONTEXT, text)
        self.assertEqual(self.client.tokenize(text), chunk.token_ids)
        raw = self.client.generate(GenerateRequest(prompt=text, max_tokens=1))
        ids = self.client.tokenize(text, beginning=True)
        self.assertEqual(raw.usage.prompt_tokens, len(ids))

    def test_a_conversation_makes_the_prompt_that_is_generated_from(self) -> None:
        messages = [ChatMessage("user", "What is the capital of France?")]
        prompt = self.client.apply_template(messages)
        self.assertEqual(
            prompt.prompt,
            "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
        )
        self.assertEqual(self.client.detokenize(prompt.token_ids).text, prompt.prompt)
        final = self.client.generate(GenerateRequest(messages=messages, max_tokens=1))
        self.assertEqual(final.usage.prompt_tokens, len(prompt.token_ids))
        quiet = self.client.apply_template(messages, thinking=False).prompt
        self.assertEqual(quiet, prompt.prompt + "<think>\n\n</think>\n\n")
        bare = self.client.detokenize(prompt.token_ids, skip_special=True).text
        self.assertNotIn("<|im_start|>", bare)

    def test_bad_arguments_are_named(self) -> None:
        client = self.client
        user = [ChatMessage("user", "x")]
        self.assert_refused("text", lambda: client.tokenize(""))
        self.assert_refused("token_ids[0]", lambda: client.detokenize([1 << 30]))
        self.assert_refused("messages", lambda: client.apply_template([]))
        self.assert_refused(
            "reasoning_effort", lambda: client.apply_template(user, reasoning_effort="A lot")
        )
        for tools in ("{}", "[1]", "["):
            self.assert_refused("tools", lambda: client.apply_template(user, tools=tools))
        self.assert_refused(
            "tools", lambda: client.generate(GenerateRequest(prompt="x", tools=[WEATHER]))
        )
        self.assert_refused(
            "messages[1].tool_calls", lambda: client.apply_template(conversation("{"))
        )

    def test_an_output_has_the_id_that_was_announced(self) -> None:
        request = GenerateRequest(
            prompt="The", max_tokens=9, retain_output=True, sampling=Sampling(temperature=1)
        )
        first, *_, last = self.client.stream(request)
        assert isinstance(first, Accepted) and isinstance(last, Final)
        self.assertEqual(first.output_id, last.output_chunk_id)
        self.assertTrue(first.output_id)


class ToolsTest(unittest.TestCase):
    def test_tools_calls_and_results_reach_the_template(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for file in DEMO_MODEL.iterdir():
                Path(folder, file.name).symlink_to(file)
            config = Path(folder, "tokenizer_config.json")
            changed = {**json.loads(config.read_text()), "chat_template": TEMPLATE}
            config.unlink()
            config.write_text(json.dumps(changed))
            daemon = PrivateDaemon(folder, arguments=["--threads", "1"])
            self.addCleanup(daemon.stop)
            with Client(daemon.endpoint) as client:
                self.check(client)

    def check(self, client: Client) -> None:
        expected = (
            "[weather city]<|im_start|>user\nWeather in Köln?<|im_end|>\n"
            "<|im_start|>assistant\n<call_1 weather Köln><|im_end|>\n"
            "<|im_start|>tool call_1 weather\nrain<|im_end|>\n<|im_start|>assistant\n"
        )
        arguments = '{"city": "Köln"}'
        as_text = {**CALL, "function": {"name": "weather", "arguments": arguments}}
        for calls in ([CALL], [as_text], json.dumps([as_text])):
            messages = conversation(calls)
            prompt = client.apply_template(messages, tools=[WEATHER])
            self.assertEqual(prompt.prompt, expected)
            request = GenerateRequest(messages=messages, tools=[WEATHER], max_tokens=1)
            usage = client.generate(request).usage
            self.assertEqual(usage.prompt_tokens, len(prompt.token_ids))
        without = client.apply_template(conversation([CALL])).prompt
        self.assertEqual(without, expected.removeprefix("[weather city]"))


if __name__ == "__main__":
    unittest.main()
