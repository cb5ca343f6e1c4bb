"""Deleted means gone: at whatever moment a delete comes, when it is answered nothing of it is
left in the state directory – no text, no six token ids behind each other – nor after kill -9 and a
restart, and nothing of it is reused; also of what a kill -9 interrupted before the delete.
$CASCADE_LONG_TESTS: 2,500 deletes, longer texts, five types of K and V."""
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from service import BIN, LONG, SOURCE, Service

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402
from cascade_llm import ChunkRef, ChunkType, GenerateRequest, Sampling  # noqa: E402

KV_TYPES = ("int8", "bf16", "fp8", "fp16", "f32") if LONG else ("int8",)
DELETES = 2000 if LONG else 8  # of all types together
KILL_EVERY = 20 if LONG else 4
KILLS = 500 if LONG else 20  # before a delete
WORDS = (5, 30, 100, 300, 700) if LONG else (5, 30, 100, 200)
# The kinds of chunks that are deleted take turns.
WAYS = ("a context while a prompt runs", "a context", "an output", "an output that was pinned")
# What is deleted after a kill -9, and how, takes turns.
LATE_WAYS = ("an output", "a session", "an output that expires", "a context", "an output, rebuilt")
PAGE_TOKENS = 64
IDS = 6  # that stand behind each other


def some_words(source, count):
    """Words that hardly anybody else says."""
    letters = "bdfgklmnprstv", "aeiou"
    return " ".join("".join(source.choice(letters[i % 2]) for i in range(source.choice([4, 6, 8])))
                    for _ in range(count))


def packed(ids):
    return struct.pack(f"<{len(ids)}i", *ids)


class Traces:
    """What must not be found any more."""

    def __init__(self, word, text, ids):
        self.word = word.encode()
        self.text = text
        # Some of each page of the text: what stays is a page, or a chain.
        self.windows = [packed(ids[i:i + IDS])
                        for i in range(0, max(0, len(ids) - IDS), PAGE_TOKENS // 2)]

    def found_in(self, folder):
        """What is found of it, and where."""
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if not path.is_file() or "weights" in str(path):
                continue
            data = path.read_bytes()
            for trace in [self.word, *self.windows]:
                if trace in data:
                    return trace, path
        return None


class Deletion(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("CASCADE_TEST_SEED", time.time_ns() % 2**32))
        print("CASCADE_TEST_SEED", self.seed, flush=True)
        self.random = random.Random(self.seed)
        self.number = 0
        self.texts = []  # of everybody

    def text(self, words):
        """Words in an order of their own, and one that no other text has."""
        self.number += 1
        name = "zq" + "".join(self.random.choice("bcdfghjklmnp") for _ in range(8))
        text = f"About {name}: {some_words(self.random, words)}."
        self.texts.append(text)
        return name, text

    def check_gone(self, client, traces, service, what):
        """Nothing of it is found. Six ids in a row stand in another text by chance once in some
        thousand times: such a find does not count."""
        others = None
        while found := traces.found_in(service.folder / "state"):
            trace, path = found
            if others is None:
                texts = [text for text in list(self.texts) if text != traces.text]
                others = [packed(client.tokenize(text)) for text in texts]
            self.assertTrue(any(trace in ids for ids in others), f"{what}: {trace} is in {path}")
            traces.windows.remove(trace)

    def delete_one(self, client):
        """Something is generated, or registered and used, and deleted at a random moment."""
        way = WAYS[self.number % len(WAYS)]
        name, text = self.text(self.random.choice(WORDS))
        request = GenerateRequest(max_tokens=self.random.choice([1, 4, 16]))
        request.sampling = Sampling(temperature=0)
        delay_s = self.random.choice([0, 0, 0.001, 0.003, 0.02, 0.08, 0.3, 1.0]) * \
            self.random.random() * 2
        ids = client.tokenize(text)
        if way.startswith("a context"):
            chunk = client.put_chunk(ChunkType.CONTEXT, text)
            request.chunks = [ChunkRef(ChunkType.CONTEXT, id=chunk.id),
                              ChunkRef(ChunkType.QUERY, text="Which?")]
            if way == "a context while a prompt runs":
                running = client.stream(request)
                time.sleep(delay_s / 4)
                deleted = client.delete_chunk(chunk.id)
                list(running)
            else:
                client.generate(request)
                time.sleep(delay_s)
                deleted = client.delete_chunk(chunk.id)
        else:
            request.retain_output = True
            request.chunks = [ChunkRef(ChunkType.QUERY, text=text)]
            if way == "an output that was pinned":
                request.output_pinned = True
            final = client.generate(request)
            time.sleep(delay_s)
            if request.output_pinned:
                client.update_chunk(final.output_chunk_id, pinned=False)
            deleted = client.delete_chunk(final.output_chunk_id)
        self.assertEqual(deleted.holders, [])
        return Traces(name, text, ids)

    def work_beside(self, endpoint, stop):
        """Others generate, retain and forget meanwhile."""
        words = random.Random(self.seed + 1)
        with cascade_llm.Client(endpoint) as client:
            while not stop.is_set():
                text = "Beside: " + some_words(words, words.choice([3, *WORDS[2:]]))
                self.texts.append(text)
                request = GenerateRequest(max_tokens=4, retain_output=words.random() < 0.7)
                request.chunks = [ChunkRef(ChunkType.QUERY, text=text)]
                request.output_ttl_ms = 2000 if request.retain_output else None
                try:
                    client.generate(request)
                except cascade_llm.CascadeError:
                    return  # the daemon was killed
                stop.wait(0.05)

    def rounds(self, folder, kv, deletes):
        gone = []
        while True:
            with Service("--kv", kv, "--kv-memory", "256M", "--max-disk", "24M",
                         folder=folder) as service:
                if gone:
                    with cascade_llm.Client(service.endpoint) as client:
                        for traces in gone:
                            self.check_gone(client, traces, service, f"{kv}, after kill -9")
                    done = service.ctl("fsck", "--json", check=False)
                    self.assertEqual(json.loads(done.stdout)["found"], 0, done.stdout)
                if deletes == 0:
                    return
                now = min(deletes, KILL_EVERY)
                gone = self.round(service, kv, now)
                deletes -= now

    def round(self, service, kv, deletes):
        """So many deletes and a kill; the traces of what was deleted."""
        gone = []
        stop = threading.Event()
        beside = threading.Thread(target=self.work_beside, args=(service.endpoint, stop))
        with cascade_llm.Client(service.endpoint) as client:
            beside.start()
            try:
                for _ in range(deletes):
                    gone.append(self.delete_one(client))
                    self.check_gone(client, gone[-1], service, f"{kv}, {self.number} texts")
            finally:
                stop.set()
                service.stop(signal.SIGKILL)
                beside.join()
        return gone

    def test_leaves_nothing_behind_at_any_moment(self):
        for kv in KV_TYPES:
            with tempfile.TemporaryDirectory(prefix="cascade-deletion-") as folder:
                self.rounds(folder, kv, DELETES // len(KV_TYPES))

    def make_and_kill(self, service, way):
        """Something is generated, and the daemon killed at a random moment; how to delete it, its
        traces, and the request."""
        name, text = self.text(self.random.choice(WORDS))
        query = ChunkRef(ChunkType.QUERY, text=text)
        request = GenerateRequest(max_tokens=self.random.choice([1, 4, 16]), chunks=[query])
        request.sampling = Sampling(temperature=0)
        delay_s = self.random.choice([0, 0, 0, 0.001, 0.01, 0.1, 1.0]) * self.random.random()
        with cascade_llm.Client(service.endpoint) as client:
            ids = client.tokenize(text)
            if way == "a context":
                chunk_id = client.put_chunk(ChunkType.CONTEXT, text).id
                request.chunks = [ChunkRef(ChunkType.CONTEXT, id=chunk_id),
                                  ChunkRef(ChunkType.QUERY, text="Which?")]
            elif way == "a session":
                request.session = "killed"
            else:
                request.retain_output = True
                request.output_ttl_ms = 1 if way == "an output that expires" else None
            final = client.generate(request)
            time.sleep(delay_s)
            service.stop(signal.SIGKILL)
        if way != "a context":
            chunk_id = final.output_chunk_id
        again = GenerateRequest(max_tokens=1, chunks=[query])
        return way, chunk_id, Traces(name, text, ids), again

    def delete_late(self, client, way, chunk_id):
        """Deletes what a kill may have left, or not."""
        try:
            if way == "a session":
                client.delete_session("killed", outputs=True)
            elif way == "an output that expires":
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    client.get_chunk(chunk_id)
                    time.sleep(0.01)
                self.fail("it does not expire")
            else:
                client.delete_chunk(chunk_id)
        except cascade_llm.CascadeError as error:
            self.assertEqual(error.code, cascade_llm.ErrorCode.NOT_FOUND, error)

    def test_of_what_a_kill_left_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory(prefix="cascade-deletion-") as folder:
            left = None
            for number in range(KILLS + 1):
                if left and left[0].endswith("rebuilt"):
                    subprocess.run([BIN / "cascadectl", "fsck", "--rebuild", "--state-dir",
                                    pathlib.Path(folder) / "state"], capture_output=True)
                    for copy in pathlib.Path(folder).glob("state/metadata.salvaged.db*"):
                        copy.unlink()  # it is for people, and keeps what was
                with Service("--kv-memory", "64M", "--max-disk", "12M", folder=folder) as service:
                    if left:
                        self.finish(service, *left)
                    if number < KILLS:
                        left = self.make_and_kill(service, LATE_WAYS[number % len(LATE_WAYS)])

    def finish(self, service, way, chunk_id, traces, again):
        with cascade_llm.Client(service.endpoint) as client:
            self.delete_late(client, way, chunk_id)
            if way == "an output that expires":  # nobody is told when it is gone
                deadline = time.monotonic() + 20
                while traces.found_in(service.folder / "state") and time.monotonic() < deadline:
                    time.sleep(0.05)
            self.check_gone(client, traces, service, f"after kill -9, {way}")
            self.assertLess(client.generate(again).usage.reused_tokens, PAGE_TOKENS, way)
        done = service.ctl("fsck", "--json", check=False)
        self.assertEqual(json.loads(done.stdout)["found"], 0, done.stdout)

    def test_is_not_reused(self):
        with Service("--kv-memory", "256M") as service:
            with cascade_llm.Client(service.endpoint) as client:
                for delay_s in (0, 0.003, 0.02, 0.3):
                    _, text = self.text(400 if LONG else 100)
                    request = GenerateRequest(max_tokens=2, retain_output=True)
                    request.chunks = [ChunkRef(ChunkType.QUERY, text=text)]
                    final = client.generate(request)
                    time.sleep(delay_s)
                    client.delete_chunk(final.output_chunk_id)
                    request.retain_output = False
                    again = client.generate(request)
                    self.assertLess(again.usage.reused_tokens, 64, delay_s)


if __name__ == "__main__":
    unittest.main()
