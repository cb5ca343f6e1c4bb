"""Conversations that outgrow their room, with a real daemon."""

from __future__ import annotations

import unittest

from cascade_llm import (
    CascadeError,
    ChunkRef,
    ChunkType,
    Client,
    Final,
    GenerateRequest,
    OnOverflow,
    PrivateDaemon,
    Sampling,
)
from support import DEMO_MODEL


class OverflowTest(unittest.TestCase):
    def setUp(self) -> None:
        # There is room for some 1,000 tokens, in memory and on disk.
        self.daemon = PrivateDaemon(
            DEMO_MODEL, arguments=["--threads", "1", "--kv-memory", "1M", "--max-disk", "1M"]
        )
        self.addCleanup(self.daemon.stop)
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def ask(self, session: str, text: str, on_overflow: OnOverflow | None = None) -> Final:
        return self.client.generate(
            GenerateRequest(
                chunks=[ChunkRef(ChunkType.QUERY, text=text)],
                session=session,
                sampling=Sampling(temperature=0),
                max_tokens=2,
                on_overflow=on_overflow,
            )
        )

    def turn(self, number: int, on_overflow: OnOverflow | None = None) -> Final:
        question = f"{number}: What do you know about " + "the old town and " * 30
        return self.ask("long", question, on_overflow)

    def test_a_session_goes_on_without_its_oldest_turns(self) -> None:
        self.assertIsNone(self.turn(1).left_out)
        turns = 1
        while True:
            try:
                self.turn(turns + 1)
            except CascadeError as error:
                self.assertEqual(error.field, "chunks")
                break
            turns += 1
            self.assertLess(turns, 40)
        final = self.turn(turns + 1, OnOverflow.DROP_OLDEST)
        assert final.left_out is not None
        self.assertGreater(final.left_out.turns, 0)
        self.assertEqual(final.left_out.steps, 0)
        session = self.client.get_session("long").session
        self.assertEqual(session.turns, turns + 1)
        self.assertEqual(session.on_overflow, OnOverflow.DROP_OLDEST)
        self.assertEqual(session.left_out_turns, final.left_out.turns)
        again = self.turn(turns + 2)
        self.assertEqual(again.left_out, final.left_out, "the session keeps the choice")

    def test_a_session_gets_back_what_answers_its_question(self) -> None:
        told = self.ask("facts", "The code of the red box is 4711.", OnOverflow.RETRIEVE)
        for number in range(20):
            self.ask("facts", f"{number}: What do you know about " + "the old town and " * 20)
        final = self.ask("facts", "What is the code of the red box?")
        self.assertIn("4711", final.retrieved_text)
        self.assertIn(told.output_chunk_id, [part.chunk_id for part in final.retrieved])
        self.assertEqual(self.client.get_session("facts").session.retrieved, final.retrieved)
        record = self.client.get_chunk(final.output_chunk_id).generation
        assert record is not None
        self.assertEqual(record.retrieved, final.retrieved)

    def test_a_session_goes_on_with_summaries_of_its_oldest_turns(self) -> None:
        final = self.turn(1, OnOverflow.SUMMARIZE)
        for number in range(2, 40):
            if final.left_out is not None:
                break
            final = self.turn(number)
            if final.usage.prompt_tokens > 250:  # more than half of the room
                self.wait_for_a_summary()
        assert final.left_out is not None and final.summarised is not None
        self.assertLessEqual(final.summarised.turns, final.left_out.turns)
        self.assertEqual(self.client.get_session("long").session.summarised, final.summarised)
        summary = self.client.get_chunk(final.summarised.chunk_ids[0])
        self.assertEqual(summary.type, ChunkType.SUMMARY)
        self.assertNotEqual(summary.text, "")
        first_turn = self.client.get_session("long").turns[0].output_id
        self.assertIn(first_turn, summary.parent_ids)

    def wait_for_a_summary(self) -> None:
        """Asks again and again: the daemon writes it while nobody wants anything else."""
        for _ in range(20_000):
            if self.client.list_chunks(type=ChunkType.SUMMARY, limit=1).chunks:
                return
        self.fail("no summary was written")


if __name__ == "__main__":
    unittest.main()
