"""Answers whose thoughts are taken out, with a real daemon."""

from __future__ import annotations

import time
import unittest

from cascade_llm import (
    Approximation,
    ChatMessage,
    Client,
    Final,
    GenerateRequest,
    Sampling,
    ThinkPolicy,
)
from support import PATIENCE_S, DaemonTest


class ThoughtsTest(DaemonTest):
    client: Client

    def setUp(self) -> None:
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def thoughtful(self, question: str, heal: bool) -> Final:
        """An answer after a thought. The demo model thinks or does not, as it is drawn."""
        for seed in range(1, 40):
            final = self.client.generate(
                GenerateRequest(
                    messages=[ChatMessage("user", question)],
                    sampling=Sampling(temperature=0.8, seed=seed),
                    retain_output=True,
                    max_tokens=200,
                    think_policy=ThinkPolicy.SPLICE,
                    heal=heal,
                )
            )
            if final.reasoning and final.text:
                return final
        raise AssertionError("the model did not think")

    def turn_after(self, output_id: str, policy: ThinkPolicy) -> Final:
        return self.client.generate(
            GenerateRequest(
                messages=[ChatMessage("user", "And 2+3?")],
                previous_output=output_id,
                sampling=Sampling(temperature=0),
                max_tokens=4,
                think_policy=policy,
            )
        )

    def test_the_next_turn_goes_on_from_the_answer_alone(self) -> None:
        first = self.thoughtful("What is 12+31?", heal=False)
        self.assertEqual(first.approximation, Approximation.NONE)
        second = self.turn_after(first.output_chunk_id, ThinkPolicy.SPLICE)
        self.assertEqual(second.approximation, Approximation.SPLICE)
        self.assertGreater(second.usage.approximate_tokens, 0)
        chunk = self.client.get_chunk(first.output_chunk_id)
        self.assertEqual((chunk.kv_state, chunk.kv_approximation), ("ready", "splice"))
        exact = self.turn_after(first.output_chunk_id, ThinkPolicy.REPREFILL)
        self.assertEqual((exact.approximation, exact.usage.approximate_tokens), ("none", 0))

    def test_idle_time_makes_it_exact(self) -> None:
        first = self.thoughtful("What is 22+31?", heal=True)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            chunk = self.client.get_chunk(first.output_chunk_id)
            if (chunk.kv_state, chunk.kv_approximation) == ("ready", "none"):
                break
        self.assertEqual((chunk.kv_state, chunk.kv_approximation), ("ready", "none"))
        second = self.turn_after(first.output_chunk_id, ThinkPolicy.SPLICE)
        self.assertEqual(second.approximation, Approximation.NONE)


if __name__ == "__main__":
    unittest.main()
