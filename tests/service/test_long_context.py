"""A prompt that is eight times as long as the KV memory, in a daemon of its own."""
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

from service import BIN, LONG, Service, wait_until

PAGE_TOKENS = 64
MEMORY_PAGES = 8
WORDS = "the red blue old small house river garden tower ship reads finds keeps counts".split()


def text(seed, words):
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(words))


class LongContext(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-long-context-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def service(self, kv_type, kv_bytes, *options):
        return Service("--kv", kv_type, "--kv-memory", str(kv_bytes), *options,
                       folder=self.folder)

    def ask(self, service, prompt, *more):
        done = service.ctl("generate", "--json", "--raw", "--logprobs", "--max-tokens", "24",
                           "--temperature", "0", *more, input=prompt)
        return json.loads(done.stdout)

    def same(self, answer, reference):
        self.assertEqual(answer["token_ids"], reference["token_ids"])
        self.assertEqual(answer["logprobs"], reference["logprobs"])

    def check(self, kv_type, pages):
        prompt = text(1, pages * PAGE_TOKENS - 100)
        with self.service(kv_type, 64 << 20, "--state-dir", "") as service:
            reference = self.ask(service, prompt)
            other = self.ask(service, "no " + prompt)
            status = json.loads(service.ctl("status", "--json").stdout)
            service.stop()
        self.assertGreater(reference["usage"]["prompt_tokens"], (pages - 3) * PAGE_TOKENS)
        memory = MEMORY_PAGES * PAGE_TOKENS * status["kv_bytes_per_token"]
        with self.service(kv_type, memory) as service:
            # Two at once; the daemon is killed while it computes them.
            begun = [self.begin(service, prompt), self.begin(service, "no " + prompt)]
            kv = self.folder / "state" / "kv"
            wait_until(lambda: sum(file.stat().st_size for file in kv.iterdir()) > 2 * memory,
                       "the first part")
            service.stop(signal.SIGKILL)
            for client in begun:
                client.communicate()
        with self.service(kv_type, memory) as service:
            both = [self.begin(service, prompt), self.begin(service, "no " + prompt)]
            answers = [json.loads(client.communicate()[0]) for client in both]
            self.same(answers[0], reference)
            self.same(answers[1], other)
            found = sum(answer["usage"]["loaded_tokens"] for answer in answers)
            self.assertGreater(found, MEMORY_PAGES * PAGE_TOKENS)
            self.same(self.ask(service, prompt), reference)
            service.ctl("fsck")
            service.stop()

    def begin(self, service, prompt):
        client = subprocess.Popen(
            [BIN / "cascadectl", "--endpoint", service.endpoint, "generate", "--json", "--raw",
             "--logprobs", "--max-tokens", "24", "--temperature", "0"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        client.stdin.write(prompt)
        client.stdin.close()
        client.stdin = None
        return client

    def test_gives_the_bits_of_one_in_memory_also_after_kill_9(self):
        self.check("int8", 8 * MEMORY_PAGES)

    def test_with_any_type_of_k_and_v(self):
        for kv_type in ("f32", "bf16", "fp16", "fp8") if LONG else ("fp8",):
            with self.subTest(kv_type):
                self.check(kv_type, (8 if LONG else 4) * MEMORY_PAGES)


if __name__ == "__main__":
    sys.exit(unittest.main())
