"""The largest requests that are allowed, at a long context: each ends in an answer or an error, and
the daemon goes on, at once and after a restart."""
import contextlib
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from service import LONG, SOURCE, Service

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402
from cascade_llm import ChatMessage, ChunkType  # noqa: E402

CONTEXT = 400_000  # with the longest token, 48 bytes: more text than a message can have
TEXT_MAX = 16 << 20
DEMO = SOURCE / "models/demo"


def long_model(folder):
    """The demo model with a configuration that claims a long context."""
    copy = pathlib.Path(folder) / "long"
    copy.mkdir()
    for file in DEMO.iterdir():
        (copy / file.name).symlink_to(file)
    config = json.loads((DEMO / "config.json").read_text())
    config["max_position_embeddings"] = CONTEXT
    (copy / "config.json").unlink()
    (copy / "config.json").write_text(json.dumps(config))
    return copy


class LargestRequests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-largest-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.model = long_model(self.folder)

    def service(self):
        service = Service("--http", "127.0.0.1:0", folder=self.folder, model=self.model)
        self.http = service.http_address()
        return service

    def ask_for_everything(self, service):
        words = "word " * (TEXT_MAX // 5)
        long_text = [ChatMessage("user", words)]
        options = cascade_llm.ClientOptions(timeout_ms=300_000)
        with cascade_llm.Client(service.endpoint, options=options) as client:
            self.refused("text", client.apply_template, long_text)
            self.refused("token_ids", client.detokenize, [self.longest_token()] * CONTEXT)
            self.assertEqual(len(client.detokenize([5] * CONTEXT, pieces=True).pieces), CONTEXT)
            if LONG:
                digits = "1" * TEXT_MAX  # each is a token
                self.refused("", client.tokenize, digits)
                self.refused("", client.put_chunk, ChunkType.CONTEXT, digits)
                self.assertGreater(len(client.tokenize(words)), 3_000_000)
                self.ask_over_http("1" * (TEXT_MAX - 1000))
        self.assertIsNone(service.process.poll())
        self.assertEqual(json.loads(service.ctl("status", "--json").stdout)["actors_restarted"], [])

    def refused(self, field, call, *arguments):
        with self.assertRaises(cascade_llm.CascadeError) as caught:
            call(*arguments)
        error = caught.exception
        self.assertEqual((error.code, error.field), ("invalid_argument", field), error)
        self.assertIn("limit", str(error))

    def ask_over_http(self, digits):
        messages = [{"role": "user", "content": digits}]
        self.assertIn("limit", self.post("/tokenize", {"content": digits}))
        self.assertIn("limit", self.post("/apply-template", {"messages": messages}))
        ids = [self.longest_token()] * CONTEXT
        self.assertIn("limit", self.post("/detokenize", {"tokens": ids}))
        for path, prompt in [("/v1/completions", {"prompt": digits}),
                             ("/v1/chat/completions", {"messages": messages})]:
            self.assertIn("maximum context length",
                          self.post(path, {"model": "long", "max_tokens": 1, **prompt}))

    def post(self, path, body):
        """The message of the error."""
        with contextlib.closing(http.client.HTTPConnection(*self.http, timeout=300)) as connection:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        self.assertEqual(response.status, 400, path)
        return answer["error"]["message"]

    def longest_token(self):
        vocabulary = json.loads((DEMO / "tokenizer.json").read_text())["model"]["vocab"]
        return vocabulary[max(vocabulary, key=len)]

    def test_end_in_an_answer_or_an_error(self):
        with self.service() as service:
            self.ask_for_everything(service)
        with self.service() as service:
            self.ask_for_everything(service)


if __name__ == "__main__":
    unittest.main()
