"""Deleted means gone: at whatever moment a delete comes, when it is answered nothing of it is
left in the state directory – no text, no six token ids in a row –, not even after kill -9 and a
restart, and nothing of it is reused. $CASCADE_LONG_TESTS: 2,000 deletes, longer texts, five types
of K and V."""
import json
import random
import signal
import sys
import tempfile
import threading
import time
import unittest

from deletion import DeletionCase, Traces, some_words
from service import LONG, SOURCE, Service

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402
from cascade_llm import ChunkRef, ChunkType, GenerateRequest, Sampling  # noqa: E402

KV_TYPES = ("int8", "bf16", "fp8", "fp16", "f32") if LONG else ("int8",)
DELETES = 2000 if LONG else 10  # for all types together
KILL_EVERY = 20 if LONG else 5
WORDS = (5, 30, 100, 300, 700) if LONG else (5, 30, 100, 200)
# The kinds of chunks to delete, which take turns.
WAYS = ("a context while a prompt runs", "a context", "an output", "an output that was pinned")


class Deletion(DeletionCase):
    def delete_one(self, client):
        """Generates something, or registers and uses it, and deletes it at a random moment."""
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
        """Another client generates, retains and forgets meanwhile."""
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
            with Service("--kv", kv, "--kv-memory", "256M", "--max-disk", "24M" if LONG else "8M",
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
        """Makes `deletes` deletes and kills the service; returns the traces of what was deleted."""
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
