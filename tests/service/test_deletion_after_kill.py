"""Deleted means gone, whatever a kill -9 interrupted before: nothing of a text is left in the state
directory, nothing of it is reused, and fsck finds nothing. $CASCADE_LONG_TESTS: 500 kills."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from deletion import PAGE_TOKENS, DeletionCase, Traces
from service import BIN, LONG, SOURCE, Service

sys.path.insert(0, str(SOURCE / "clients/python"))
import cascade_llm  # noqa: E402
from cascade_llm import ChunkRef, ChunkType, GenerateRequest, Sampling  # noqa: E402

KILLS = 500 if LONG else 10
WORDS = (5, 30, 100, 300, 700) if LONG else (5, 30, 100, 200)
# The ways to delete something after a kill -9, which take turns.
LATE_WAYS = ("an output", "a session", "an output that expires", "a context", "an output, rebuilt")


class DeletionAfterKill(DeletionCase):
    def make_and_kill(self, service, way):
        """Generates something and kills the daemon at a random moment. Returns how to delete the
        text, its traces, and the request."""
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
        """Deletes the chunk, which a kill may have left or not."""
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
                        copy.unlink()  # it is for people, and keeps the old content
                with Service("--kv-memory", "64M", "--max-disk", "12M" if LONG else "6M",
                             folder=folder) as service:
                    if left:
                        self.finish(service, *left)
                    if number < KILLS:
                        left = self.make_and_kill(service, LATE_WAYS[number % len(LATE_WAYS)])

    def finish(self, service, way, chunk_id, traces, again):
        with cascade_llm.Client(service.endpoint) as client:
            self.delete_late(client, way, chunk_id)
            if way == "an output that expires":  # nobody is told when the text is gone
                deadline = time.monotonic() + 20
                while traces.found_in(service.folder / "state") and time.monotonic() < deadline:
                    time.sleep(0.05)
            self.check_gone(client, traces, service, f"after kill -9, {way}")
            self.assertLess(client.generate(again).usage.reused_tokens, PAGE_TOKENS, way)
        done = service.ctl("fsck", "--json", check=False)
        self.assertEqual(json.loads(done.stdout)["found"], 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
