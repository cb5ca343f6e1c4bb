"""Prompts that do not fit, in the words of OpenAI's API; answers that are cut so that they fit."""
import re
import unittest

from daemon import Daemon, question

CONTEXT = 16_384


class Overflow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def overflows(self, daemon, path, body, param, room):
        answer = daemon.post(path, body)
        self.assertEqual(answer.status, 400, answer.text)
        error = answer.error
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertEqual(error["param"], param)
        # opencode, LangChain and others look for these words.
        self.assertRegex(error["message"], f"maximum context length is {room} tokens")
        self.assertRegex(error["message"], "[Rr]educe the length of the (messages|prompt)")
        return error

    def test_of_the_context_has_the_code_and_param_of_each_route(self):
        text = "word " * 20_000
        ids = [65] * CONTEXT
        for stream in (False, True):
            for path, body, param in [
                    ("/v1/chat/completions", question(text), "messages"),
                    ("/v1/completions", {"prompt": text}, "prompt"),
                    ("/v1/completions", {"prompt": ["short", text]}, "prompt"),
                    ("/v1/completions", {"prompt": ids}, "prompt"),
                    ("/v1/responses", {"input": text, "store": False}, "input"),
                    # This has more bytes than are tokenized at all.
                    ("/v1/chat/completions", question("x" * (3 << 20)), "messages"),
                    ("/v1/responses", {"input": "x" * (3 << 20), "store": False}, "input")]:
                if stream and body.get("prompt") == ["short", text]:
                    continue  # the answer to the first prompt may have begun
                error = self.overflows(self.daemon, path, dict(body, stream=stream), param, CONTEXT)
                self.assertTrue(re.search(r"your \w+ (has|have) \d+", error["message"]), error)

    def test_max_tokens_beyond_the_context_and_the_memory_are_cut(self):
        asked = question(max_tokens=100_000, ignore_eos=True)
        with Daemon("--kv-memory", "1M") as daemon:
            usage = daemon.post("/v1/chat/completions", asked)
            self.assertEqual(usage.status, 200, usage.text)
            self.assertEqual(usage.json["choices"][0]["finish_reason"], "length")
            total = usage.json["usage"]["total_tokens"]
            self.assertEqual(total % 64, 0)
            self.assertLess(total, 1000)
            # A prompt that does not fit is read from disk while it is computed.
            long = daemon.post("/v1/chat/completions", question("word " * 2000, max_tokens=2))
            self.assertEqual(long.status, 200, long.text)
        with Daemon("--kv-memory", "1M", "--state-dir", "") as daemon:  # it must fit
            self.overflows(daemon, "/v1/chat/completions", question("word " * 2000), "messages",
                           total)
            self.overflows(daemon, "/v1/responses", {"input": "word " * 2000, "store": False},
                           "input", total)

    def test_other_errors_keep_their_codes(self):
        answer = self.daemon.post("/v1/chat/completions", question(temperature=-1))
        self.assertEqual((answer.error["code"], answer.error["param"]),
                         ("invalid_argument", "temperature"))
        answer = self.daemon.post("/tokenize", {"content": "x" * (3 << 20)})
        self.assertEqual((answer.error["code"], answer.error["param"]),
                         ("invalid_argument", "content"))


if __name__ == "__main__":
    unittest.main()
