"""A RoPE scaling that the operator chooses: longer contexts, in chains of their own."""
import json
import pathlib
import sys
import tempfile
import unittest

from service import Service

TEXT = "A context of some length, so that it has pages of its own. " * 12
CONTEXT = 16384  # of the demo model


class RopeScaling(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-rope-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.context = self.folder / "context.txt"
        self.context.write_text(TEXT)

    def service(self, *options):
        return Service(*options, folder=self.folder)

    def answer(self, service, *more):
        done = service.ctl("generate", "--json", "--max-tokens", "8", "--temperature", "0",
                           "--retain", "--context-file", self.context, *more, "Why?")
        return json.loads(done.stdout)

    def test_lengthens_the_context_and_prompts_beyond_it_are_refused(self):
        with self.service("--rope-scaling", "yarn:2", "--state-dir", "") as service:
            status = json.loads(service.ctl("status", "--json").stdout)
            self.assertEqual(status["context_tokens_max"], 2 * CONTEXT)
            self.assertIn(f"context {2 * CONTEXT} tokens", service.log())
            refused = service.ctl("generate", "--raw", check=False,
                                  input="no " * (2 * CONTEXT + 1))
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(f"maximum context length is {2 * CONTEXT} tokens. However, your prompt "
                          "has ", refused.stderr)

    def test_never_finds_what_was_computed_without_it(self):
        with self.service() as service:
            first = self.answer(service)
            service.ctl("chunk", "pin", first["output_chunk_id"])
            service.stop()
        with self.service("--rope-scaling", "linear:2") as service:
            self.assertIn("or with another rope_scaling: they cannot be used", service.log())
            other = self.answer(service, "--chunk", first["output_chunk_id"])
            self.assertEqual(other["usage"]["loaded_tokens"], 0)
            service.stop()
        with self.service() as service:
            back = self.answer(service)
            self.assertEqual(back["token_ids"], first["token_ids"])
            self.assertGreater(back["usage"]["loaded_tokens"] + back["usage"]["reused_tokens"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
