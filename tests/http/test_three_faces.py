"""One conversation, and one id of each turn, over HTTP, ZeroMQ and cascadectl's chat."""
import json
import os
import subprocess
import sys
import unittest

from daemon import BIN, SOURCE, Daemon, wait_until

try:
    sys.path.insert(0, str(SOURCE / "clients/python"))
    from cascade_llm import ChunkRef, ChunkType, Client, GenerateRequest, Sampling
except ImportError as missing:
    print("SKIPPED: the Python client cannot be used here:", missing, file=sys.stderr)
    sys.exit(77)

CAPITAL = "What is the capital of France?"
CITY = "What city did we just discuss?"
REPEAT = "Please repeat your last answer."


def output_id(response):
    return response["id"].replace("resp_", "output_")


class ThreeFaces(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.endpoint = f"ipc://{self.daemon.folder}/run/cascaded.sock"

    def tearDown(self):
        self.daemon.__exit__()

    def respond(self, text, previous=None):
        body = {"input": text, "temperature": 0, "max_output_tokens": 60}
        if previous:
            body["previous_response_id"] = previous
        return self.daemon.post("/v1/responses", body).json

    def ctl(self, *arguments, text=""):
        done = subprocess.run([BIN / "cascadectl", "--endpoint", self.endpoint, *arguments],
                              input=text, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    def wait_for_kv(self, chunk):
        with Client.connect(self.endpoint) as client:
            wait_until(lambda: client.get_chunk(chunk).kv_state == "ready", "the K and V of it")

    def test_a_conversation_goes_from_door_to_door(self):
        first = self.respond(CAPITAL)
        self.wait_for_kv(output_id(first))
        with Client.connect(self.endpoint) as client:
            second = client.generate(GenerateRequest(
                chunks=[ChunkRef(ChunkType.OUTPUT, output_id(first)),
                        ChunkRef(ChunkType.QUERY, text=CITY)],
                sampling=Sampling(temperature=0), max_tokens=60, retain_output=True))
            self.assertIn("Paris", second.text)
            # New are the question, and the template's text around it.
            self.assertLess(second.usage.prefilled_tokens, 40)
            self.assertGreater(second.usage.reused_tokens, 20)
        self.wait_for_kv(second.output_chunk_id)
        chat = self.ctl("chat", "--temperature", "0", "--json", text="".join(
            line + "\n" for line in [f"/use-output {output_id(first)}",
                                     f"/use-output {second.output_chunk_id}", REPEAT]))
        answers = [json.loads(line) for line in chat.splitlines()]
        third = next(a for a in answers if a.get("output_chunk_id"))
        self.assertLess(third["usage"]["prefilled_tokens"], 40)
        self.assertGreater(third["usage"]["reused_tokens"], second.usage.reused_tokens)
        # Each output is the same under every name.
        for chunk in (output_id(first), second.output_chunk_id, third["output_chunk_id"]):
            shown = json.loads(self.ctl("--json", "chunk", "show", chunk))
            text = shown.get("chunk", shown)["text"]
            self.assertEqual(self.daemon.get("/v1/chunks/" + chunk).json["text"], text)
            response = self.daemon.get("/v1/responses/" + chunk.replace("output_", "resp_")).json
            said = [part["text"] for item in response["output"] if item["type"] == "message"
                    for part in item["content"]]
            self.assertEqual(said, [text])
            with Client.connect(self.endpoint) as client:
                self.assertEqual(client.get_chunk(chunk).text, text)
        # The conversation then continues over HTTP after the turns made elsewhere.
        last = self.respond("What was my first question?", third["output_chunk_id"].replace(
            "output_", "resp_"))
        self.assertEqual(last["status"], "completed")

    def test_the_last_id_is_enough_at_every_door(self):
        """Each turn uses another door than the turn before, and only the id of that turn."""
        def check(prompt, prefilled, was):
            # New are the question, and the template's text around it and the answer.
            self.assertLess(prefilled, 40)
            self.assertGreater(prompt, was)
            return prompt

        first = self.respond(CAPITAL)
        self.wait_for_kv(output_id(first))
        size = first["usage"]["input_tokens"]
        with Client.connect(self.endpoint) as client:
            second = client.generate(GenerateRequest(
                previous_output=output_id(first), chunks=[ChunkRef(ChunkType.QUERY, text=CITY)],
                sampling=Sampling(temperature=0), max_tokens=60, retain_output=True))
        size = check(second.usage.prompt_tokens, second.usage.prefilled_tokens, size)
        self.wait_for_kv(second.output_chunk_id)
        third = self.respond(REPEAT, second.output_chunk_id.replace("output_", "resp_"))
        used = third["usage"]
        size = check(used["input_tokens"],
                     used["input_tokens"] - used["input_tokens_details"]["cached_tokens"], size)
        self.wait_for_kv(output_id(third))
        chat = self.ctl("chat", "--temperature", "0", "--json",
                        text=f"/continue {output_id(third)}\n{CITY}\n")
        fourth = next(a for a in map(json.loads, chat.splitlines()) if a.get("output_chunk_id"))
        size = check(fourth["usage"]["prompt_tokens"], fourth["usage"]["prefilled_tokens"], size)
        self.wait_for_kv(fourth["output_chunk_id"])
        fifth = self.respond(REPEAT, fourth["output_chunk_id"].replace("output_", "resp_"))
        self.wait_for_kv(output_id(fifth))
        used = fifth["usage"]
        size = check(used["input_tokens"],
                     used["input_tokens"] - used["input_tokens_details"]["cached_tokens"], size)
        shown = json.loads(self.ctl("--json", "generate", "--previous-output", output_id(fifth),
                                    "--temperature", "0", CAPITAL))
        check(shown["usage"]["prompt_tokens"], shown["usage"]["prefilled_tokens"], size)
        chain = self.daemon.get("/v1/chunks/" + output_id(fifth)).json["parent_ids"]
        self.assertEqual(chain, [output_id(first), second.output_chunk_id, output_id(third),
                                 fourth["output_chunk_id"]])
        # A deleted turn ends the conversation at every door.
        self.ctl("chunk", "delete", second.output_chunk_id)
        gone = self.daemon.post("/v1/responses", {
            "input": CITY,
            "previous_response_id": fourth["output_chunk_id"].replace("output_", "resp_")})
        self.assertEqual(gone.status, 404)
        self.assertEqual(gone.error["param"], "previous_response_id")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
