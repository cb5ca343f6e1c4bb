"""The texts of tokens: pieces of a text, log-probabilities, places; SentencePiece's rules, too."""
import unittest

from daemon import SOURCE, Daemon, question

CHAT, RAW = "/v1/chat/completions", "/v1/completions"
MISTRAL = SOURCE / "tests/model/fixtures/mistral-swa"


def joined(pieces):
    """Joins the pieces; parts of a character are arrays of bytes."""
    return b"".join(p.encode() if isinstance(p, str) else bytes(p) for p in pieces).decode()


class TokenTextsTest(unittest.TestCase):
    """The two daemons have different rules for spaces."""

    @classmethod
    def setUpClass(cls):
        cls.daemons = [Daemon(), Daemon(model=MISTRAL)]

    @classmethod
    def tearDownClass(cls):
        for daemon in cls.daemons:
            daemon.__exit__()

    def ask(self, daemon, path, asked):
        reply = daemon.post(path, asked)
        self.assertEqual(reply.status, 200, reply.text)
        return reply.json

    def test_pieces_joined_are_the_text(self):
        for daemon in self.daemons:
            for text in ("x (y", "  two  spaces", "é 👋 “q”", "a\n b"):
                for special in (False, True):
                    asked = {"content": text, "with_pieces": True, "add_special": special}
                    tokens = self.ask(daemon, "/tokenize", asked)["tokens"]
                    pieces = [token["piece"] for token in tokens]
                    if pieces[0] == "<s>":
                        self.assertTrue(special)
                        pieces.pop(0)
                    self.assertEqual(joined(pieces), text)

    def test_a_completion_goes_on_with_its_prompt(self):
        """The space between prompt and completion is part of the answer."""
        for daemon in self.daemons:
            asked = {"prompt": "x (y", "max_tokens": 12, "temperature": 1, "seed": 5,
                     "ignore_eos": True, "logprobs": 5}
            choice = self.ask(daemon, RAW, asked)["choices"][0]
            found = choice["logprobs"]
            self.assertEqual(len(found["tokens"]), 12)
            for token, logprob, likely, offset in zip(*(found[name] for name in (
                    "tokens", "token_logprobs", "top_logprobs", "text_offset"))):
                self.assertIn(len(likely), (5, 6))
                self.assertEqual(likely[token], logprob)
                if not token.startswith("bytes:"):
                    self.assertTrue(choice["text"][offset:].startswith(token), (token, choice))

    def test_each_likely_token_is_there_although_texts_are_equal(self):
        asked = {"prompt": [4048, 220, 172], "max_tokens": 3, "temperature": 0, "logprobs": 5}
        found = self.ask(self.daemons[0], RAW, asked)["choices"][0]["logprobs"]
        self.assertEqual([len(likely) for likely in found["top_logprobs"]], [5, 5, 5])
        for token, logprob, likely in zip(found["tokens"], found["token_logprobs"],
                                          found["top_logprobs"]):
            self.assertEqual(likely[token], logprob)

    def test_thoughts_are_no_part_of_an_answer(self):
        for seed in range(1, 9):
            asked = {"prompt": "Hello", "logprobs": 1, "max_tokens": 30, "temperature": 1.5,
                     "seed": seed, "ignore_eos": True}
            choice = self.ask(self.daemons[0], RAW, asked)["choices"][0]
            tokens, offsets = choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]
            for token, offset in zip(tokens, offsets):
                if not token.startswith("bytes:"):
                    self.assertTrue(choice["text"][offset:].startswith(token), (token, choice))
        choice = self.ask(self.daemons[0], CHAT, question("Hello", logprobs=True))["choices"][0]
        tokens = [token["token"] for token in choice["logprobs"]["content"]]
        self.assertEqual("".join(tokens), choice["message"]["content"])

    def test_bytes_of_an_answer_joined_are_its_text(self):
        wave = self.ask(self.daemons[0], "/tokenize", {"content": "👋é"})["tokens"]
        asked = question(logprobs=True, top_logprobs=3, temperature=1, seed=3, max_tokens=20,
                         logit_bias={str(token): 30 for token in wave})
        choice = self.ask(self.daemons[0], CHAT, asked)["choices"][0]
        tokens = choice["logprobs"]["content"]
        self.assertIn("\ufffd", [token["token"] for token in tokens])
        whole = b"".join(bytes(token["bytes"] or []) for token in tokens)
        self.assertEqual(whole.decode(errors="replace"), choice["message"]["content"])


if __name__ == "__main__":
    unittest.main()
