"""The number type of the weights: the model's files choose it, the daemon reports it, and what a
change means."""
import json
import pathlib
import sys
import tempfile
import unittest

from service import SOURCE, Service, ask

GGUF = SOURCE / "tests/model/fixtures/gguf-types"
PROMPT = "The capital of France is"
TEXT = "A context of some length, so that it has pages of its own. " * 12


class WeightsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-weights-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def status(self, service):
        return json.loads(service.ctl("status", "--json").stdout)


class Choice(WeightsTest):
    def test_plain_numbers_are_bf16_unless_somebody_says(self):
        with Service() as service:
            self.assertEqual(self.status(service)["weight_type"], "bf16")
            self.assertIn("weights as bf16: 100 % of their bytes are BF16", service.log())
        with Service("--weights", "int8") as service:
            self.assertEqual(self.status(service)["weight_type"], "int8")
            self.assertNotIn("of their bytes", service.log())

    def test_blocks_of_a_file_are_not_inflated(self):
        if not GGUF.exists():
            self.skipTest(f"{GGUF} is not there")
        # The files of Q5_0 and Q4_0 have one matrix of Q6_K.
        for name, chosen, times in (("Q8_0", "int8", 1.1), ("Q5_0", "int8 and q6k", 1.7),
                                    ("Q4_0", "int4 and q6k", 1.1),
                                    ("Q4_K_M", "q4k and q6k", 1.1), ("Q6_K", "q6k", 1.1),
                                    ("F16", "bf16", 1.1), ("BF16", "bf16", 1.1)):
            with self.subTest(name):
                file = GGUF / f"tiny-{name}.gguf"
                with Service(model=file) as service:
                    status = self.status(service)
                    self.assertEqual(status["weight_type"], chosen)
                    self.assertLess(status["weight_bytes"], times * file.stat().st_size)
                    self.assertIn(f"weights as {chosen}", service.log())
                    models = json.loads(service.ctl("model", "list", "--json").stdout)["models"]
                    self.assertEqual(models[0]["weight_type"], chosen)
                    self.assertEqual(models[0]["weights_bytes"], status["weight_bytes"])


class Fingerprint(WeightsTest):
    def test_differs_if_some_matrices_have_other_types(self):
        file = GGUF / "tiny-Q4_K_M.gguf"
        seen = []
        for options in ((), (), ("--weights", "q4k")):
            with Service("--http", "127.0.0.1:0", *options, model=file) as service:
                self.assertEqual(self.status(service)["weight_type"], "q4k and q6k")
                address = service.http_address()
                version = ask(address, "GET", "/version")[1]
                answer = ask(address, "POST", "/v1/completions",
                             {"prompt": "Once", "max_tokens": 2})[1]
                self.assertEqual(answer["system_fingerprint"], version["system_fingerprint"])
                seen.append(answer["system_fingerprint"])
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0], seen[2])


class Change(WeightsTest):
    def service(self, *options):
        return Service(*options, folder=self.folder)

    def answer(self, service, *more):
        context = self.folder / "context.txt"
        context.write_text(TEXT)
        done = service.ctl("generate", "--json", "--max-tokens", "8", "--temperature", "0",
                           "--retain", "--context-file", context, *more, "Why?")
        return json.loads(done.stdout)

    def test_of_the_type_leaves_texts_and_is_said_once(self):
        said = "the state directory has K and V of demo with weights as bf16, K and V as int8"
        with self.service() as service:
            first = self.answer(service)
            service.ctl("chunk", "pin", first["output_chunk_id"])
            service.stop()
        with self.service("--weights", "int8") as service:
            self.assertIn(said, service.log())
            self.assertIn("--weights bf16 --kv int8 would use them", service.log())
            chunks = json.loads(service.ctl("chunk", "list", "--json").stdout)["chunks"]
            self.assertIn(first["output_chunk_id"], [chunk["id"] for chunk in chunks])
            # The output can still be used: its text is computed again with these weights.
            again = self.answer(service, "--chunk", first["output_chunk_id"])
            self.assertEqual(again["usage"]["completion_tokens"], 8)
            self.assertEqual(again["usage"]["loaded_tokens"], 0)
            service.stop()
        with self.service("--weights", "int8") as service:
            self.assertNotIn(said, service.log())
            service.stop()
        with self.service() as service:
            self.assertNotIn("the state directory has K and V", service.log())
            back = self.answer(service)
            self.assertEqual(back["token_ids"], first["token_ids"])
            self.assertGreater(back["usage"]["loaded_tokens"] + back["usage"]["reused_tokens"], 0)

    def test_of_some_matrices_is_said_with_the_option_that_goes_back(self):
        file = self.folder / "m.gguf"
        file.symlink_to(GGUF / "tiny-Q4_K_M.gguf")
        for number, (before, now) in enumerate((("auto", "q4k"), ("auto", "q6k"),
                                                ("q4k", "auto"))):
            state = ("--state-dir", self.folder / f"state{number}")
            with Service(*state, "--weights", before, model=file) as service:
                service.ctl("generate", "--raw", "--retain", "--max-tokens", "2", TEXT)
                chunks = json.loads(service.ctl("chunk", "list", "--json").stdout)["chunks"]
                service.ctl("chunk", "pin", chunks[-1]["id"])
                service.stop()
            with Service(*state, "--weights", now, model=file) as service:
                self.assertIn(f"; --weights {before} --kv int8 would use them", service.log())


if __name__ == "__main__":
    sys.exit(unittest.main())
