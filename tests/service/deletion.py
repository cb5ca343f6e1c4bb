"""Shared by the tests of deletion: random texts, and the traces of them that must be gone."""
import os
import pathlib
import random
import struct
import time
import unittest

PAGE_TOKENS = 64
IDS = 6  # in a row


def some_words(source, count):
    """Words that hardly occur in any other text."""
    letters = "bdfgklmnprstv", "aeiou"
    return " ".join("".join(source.choice(letters[i % 2]) for i in range(source.choice([4, 6, 8])))
                    for _ in range(count))


def packed(ids):
    return struct.pack(f"<{len(ids)}i", *ids)


class Traces:
    """The traces of a deleted text, none of which may be found any more."""

    def __init__(self, word, text, ids):
        self.word = word.encode()
        self.text = text
        # Some ids of each page of the text, because whole pages or chains may remain.
        self.windows = [packed(ids[i:i + IDS])
                        for i in range(0, max(0, len(ids) - IDS), PAGE_TOKENS // 2)]

    def found_in(self, folder):
        """The first trace that is found in a file of the folder, and the file."""
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if not path.is_file() or "weights" in str(path):
                continue
            data = path.read_bytes()
            for trace in [self.word, *self.windows]:
                if trace in data:
                    return trace, path
        return None


class DeletionCase(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("CASCADE_TEST_SEED", time.time_ns() % 2**32))
        print("CASCADE_TEST_SEED", self.seed, flush=True)
        self.random = random.Random(self.seed)
        self.number = 0
        self.texts = []  # everybody's

    def text(self, words):
        """A text of random words, and the one word in it that no other text has."""
        self.number += 1
        name = "zq" + "".join(self.random.choice("bcdfghjklmnp") for _ in range(8))
        text = f"About {name}: {some_words(self.random, words)}."
        self.texts.append(text)
        return name, text

    def check_gone(self, client, traces, service, what):
        """Checks that no trace is found. Once in a few thousand times another text has the same six
        ids in a row by chance: such a find does not count."""
        others = None
        while found := traces.found_in(service.folder / "state"):
            trace, path = found
            if others is None:
                texts = [text for text in list(self.texts) if text != traces.text]
                others = [packed(client.tokenize(text)) for text in texts]
            self.assertTrue(any(trace in ids for ids in others), f"{what}: {trace} is in {path}")
            traces.windows.remove(trace)
