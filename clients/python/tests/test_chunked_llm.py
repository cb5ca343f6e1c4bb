"""ChunkedLLM: the earlier library's API, by its documents' examples and call by call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

from cascade_llm import CascadeError, ChunkedLLM, ChunkType, SamplingParams, ThinkPolicy
from support import DEMO_MODEL, PATIENCE_S, DaemonTest

SYSTEM = "You are a helpful assistant."
GREEDY = {"temperature": 0, "max_tokens": 50}


class SeedExamplesTest(unittest.TestCase):
    def test_they_run_as_they_are_written(self) -> None:
        script = Path(__file__).with_name("seed_examples.py")
        run = subprocess.run(
            [sys.executable, str(script), str(DEMO_MODEL)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("SECOND: We just discussed Paris.", run.stdout)
        retained = "  Text: The capital of France is Paris.\n  Has think tags: False"
        self.assertIn(retained, run.stdout)


class ChunkedLLMTest(DaemonTest):
    llm: ChunkedLLM

    def setUp(self) -> None:
        self.llm = ChunkedLLM(self.daemon.endpoint)
        self.addCleanup(self.llm.close)

    def assert_refused(self, code: str, field: str, work: Any) -> str:
        with self.assertRaises(CascadeError) as refused:
            work()
        error = refused.exception
        self.assertEqual((error.code, error.field), (code, field), error)
        return error.message

    def test_an_output_says_what_it_is_and_is_kept_only_if_asked_for(self) -> None:
        question = "What is the capital of France?"
        kept = self.llm.generate_and_retain_output(SYSTEM, question, GREEDY)
        self.assertEqual(kept["text"], "The capital of France is Paris.")
        self.assertEqual(kept["retained_seq_id"], kept["output_chunk_id"])
        self.assertEqual(kept["finish_reason"], "stop")
        self.assertEqual(len(kept["token_ids"]), kept["usage"].completion_tokens)
        query = self.llm.register_chunk(question, ChunkType.QUERY)
        loose = self.llm.generate_from_chunks(query_chunk_id=query, sampling_params=GREEDY)
        self.assertIsNone(loose["output_chunk_id"])
        self.assertIsNone(loose["retained_seq_id"])
        params = SamplingParams(temperature=0, retain_output_cache=True)
        again = self.llm.generate_from_chunks(None, query, [], params)
        self.assertIn(again["retained_seq_id"], self.llm.get_retained_sequences())

    def test_retained_sequences_have_whole_texts_and_their_thoughts(self) -> None:
        params = SamplingParams(
            temperature=0, max_tokens=400, ignore_eos=True, retain_output_cache=True
        )
        long = self.llm.generate("The", params)[0]
        self.assertGreater(len(long["text"].encode()), 400)
        for seed in range(1, 40):
            thought = self.llm.generate_and_retain_output(
                "", "What is 2+2?", {"temperature": 0.8, "seed": seed}
            )
            if thought["reasoning"]:
                break
        retained = self.llm.get_retained_sequences()
        self.assertEqual(retained[str(long["output_chunk_id"])]["text"], long["text"])
        self.assertIsNone(retained[str(long["output_chunk_id"])]["think_positions"])
        info = retained[str(thought["output_chunk_id"])]
        self.assertEqual((info["text"], info["query"]), (thought["text"], "What is 2+2?"))
        assert info["think_positions"] is not None
        (begin, end), *_ = info["think_positions"]
        self.assertTrue(0 <= begin < end <= len(thought["token_ids"]))

    def test_a_release_frees_what_is_held_and_the_chunk(self) -> None:
        question = "What is the capital of Italy?"
        output = self.llm.generate_and_retain_output("", question, GREEDY)
        seq_id = str(output["retained_seq_id"])
        while self.llm.get_retained_sequences()[seq_id]["kv_bytes"] == 0:
            pass  # what it holds is there after a moment of idle time
        twice = self.llm.generate_and_retain_output("", question, GREEDY)
        self.assertEqual((twice["retained_seq_id"], twice["usage"].prefilled_tokens), (seq_id, 1))
        self.llm.release_retained_sequence(seq_id)  # one of two retentions
        self.assertIn(seq_id, self.llm.get_retained_sequences())
        self.llm.release_retained_sequence(seq_id)
        self.assertNotIn(seq_id, self.llm.get_retained_sequences())
        query = self.llm.register_chunk("Why?", ChunkType.QUERY)
        self.assert_refused(
            "not_found",
            "chunks[0].id",
            lambda: self.llm.generate_from_chunks(None, query, [seq_id]),
        )
        again = self.llm.generate_and_retain_output("", question, GREEDY)
        self.assertGreater(again["usage"].prefilled_tokens, 1)
        self.assertEqual(again["token_ids"], output["token_ids"])

    def test_a_release_deletes_nothing_but_outputs(self) -> None:
        context = self.llm.register_chunk("a note", ChunkType.CONTEXT)
        self.assert_refused(
            "invalid_argument", "id", lambda: self.llm.release_retained_sequence(context)
        )
        self.assertEqual(self.llm.delete_chunk(context).text, "a note")

    def test_raw_texts_are_continued_all_at_once(self) -> None:
        france, italy = self.llm.generate(["The capital of France is", "The capital of Italy is"])
        self.assertIn("Paris", france["text"])
        self.assertIn("Rome", italy["text"])
        self.assertEqual(self.llm.generate([]), [])
        self.assert_refused("invalid_argument", "prompt", lambda: self.llm.generate(["x", ""]))

    def test_parameters_are_passed_on(self) -> None:
        params = SamplingParams(
            temperature=0.5,
            max_tokens=9,
            top_k=5,
            seed=3,
            stop="zzz",
            logit_bias={7: 1.5},
            thinking=False,
            reasoning_effort="low",
            think_policy=ThinkPolicy.DROP,
            attention="window:4096",
            output_name="named",
            retain_output_cache=True,
        )
        output = self.llm.generate_and_retain_output("", "What is 2+2?", params)
        chunk = self.llm.client.get_chunk(str(output["output_chunk_id"]))
        how = chunk.generation
        self.assertEqual((how.temperature, how.top_k, how.seed, how.max_tokens), (0.5, 5, 3, 9))
        self.assertEqual((how.logit_bias_count, chunk.name), (1, "named"))
        self.assertEqual(chunk.think_policy, ThinkPolicy.DROP)
        self.assertEqual(output["attention"], "window:4096:64")

    def test_bad_parameters_are_named(self) -> None:
        ask = self.llm.generate_and_retain_output
        bad: list[tuple[str, Any]] = [
            ("sampling_params['max_token']", {"max_token": 5}),
            ("sampling_params", 0.7),
            ("sampling_params['logit_bias']", {"logit_bias": [1]}),
            ("sampling.logit_bias[0].token", {"logit_bias": {"x": 1}}),
            ("max_tokens", {"max_tokens": "50"}),
            ("sampling.temperature", {"temperature": -1}),
            ("think_policy", {"think_policy": "forget"}),
            ("attention", {"attention": 4096}),
            ("attention", {"attention": "sparse"}),
            ("reasoning_effort", {"reasoning_effort": "A lot"}),
            ("stop", {"stop": [5]}),
        ]
        for field, params in bad:
            with self.subTest(field):
                with self.assertRaises(CascadeError) as refused:
                    ask("", "x", params)
                self.assertEqual(refused.exception.code, "invalid_argument")
                self.assertTrue(refused.exception.field.startswith(field), refused.exception)
        message = self.assert_refused(
            "invalid_argument", "sampling_params['top']", lambda: ask("", "x", {"top": 1})
        )
        self.assertIn("temperature, max_tokens, top_p", message)

    def test_bad_ids_are_named(self) -> None:
        compose: Any = self.llm.generate_from_chunks
        query = self.llm.register_chunk("x", ChunkType.QUERY)
        self.assert_refused(
            "invalid_argument", "context_chunk_ids", lambda: compose(None, query, "output_1")
        )
        self.assert_refused(
            "invalid_argument", "context_chunk_ids[0]", lambda: compose(None, query, [None])
        )
        self.assert_refused("invalid_argument", "query_chunk_id", lambda: compose(None, None))
        self.assert_refused("invalid_argument", "chunks[0]", compose)
        self.assert_refused(
            "invalid_argument", "type", lambda: self.llm.register_chunk("x", compose)
        )
        self.assert_refused(
            "not_found", "chunks[0].id", lambda: compose(None, "chunk_" + "0" * 32)
        )

    def test_options_of_a_private_daemon_are_refused_for_a_running_one(self) -> None:
        self.assert_refused(
            "invalid_argument",
            "model_path",
            lambda: ChunkedLLM(self.daemon.endpoint, state_dir="/tmp/x"),
        )

    def test_without_arguments_it_finds_the_daemon_of_the_environment(self) -> None:
        with unittest.mock.patch.dict(os.environ, CASCADE_ENDPOINT=self.daemon.endpoint):
            with ChunkedLLM() as llm:
                self.assertEqual(llm.client.boot_id, self.llm.client.boot_id)


class PrivateStateTest(unittest.TestCase):
    def test_a_state_directory_keeps_chunks_for_the_next_daemon(self) -> None:
        with tempfile.TemporaryDirectory() as state:
            with ChunkedLLM(DEMO_MODEL, state_dir=state, chunk_memory_ratio=0.25) as llm:
                output = llm.generate_and_retain_output(SYSTEM, "What is 2+2?", GREEDY)
                cache = llm.get_chunk_stats().cache
                assert cache is not None
                self.assertAlmostEqual(cache.pages_held_max / cache.pages_max, 0.25, places=2)
            with ChunkedLLM(DEMO_MODEL, state_dir=state) as llm:
                retained = llm.get_retained_sequences()
                self.assertEqual(list(retained), [output["retained_seq_id"]])
            with ChunkedLLM(DEMO_MODEL) as llm:
                self.assertEqual(llm.get_retained_sequences(), {})


if __name__ == "__main__":
    unittest.main()
