"""The examples as a user runs them."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest

from support import DEMO_MODEL, PATIENCE_S, ROOT, DaemonTest

EXAMPLES = ROOT / "clients" / "python" / "examples"


class ExamplesTest(DaemonTest):
    def output_of(self, name: str, where: str) -> str:
        run = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{name}.py"), where],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_every_example_has_a_test(self) -> None:
        tested = {name[len("test_") :] for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual({path.stem for path in EXAMPLES.glob("*.py")}, tested)

    def test_multi_turn(self) -> None:
        out = self.output_of("multi_turn", str(DEMO_MODEL))
        self.assertIn("assistant: We just discussed Paris.\n", out)
        # Earlier questions and answers are found; a few tokens more, if idle time was enough.
        first, second, third = map(int, re.findall(r"(\d+) reused", out))
        self.assertEqual(first, 0)
        self.assertGreaterEqual(second, 28)
        self.assertGreater(third, second)

    def test_chain_of_thought(self) -> None:
        out = self.output_of("chain_of_thought", self.daemon.endpoint)
        keep, reprefill = out.split("policy reprefill\n")
        self.assertIn("2 + 2 = 4.  (tokens [(0, 22)])", keep)
        self.assertIn("64 tokens of prompt", keep)
        self.assertIn("41 tokens of prompt", reprefill)

    def test_one_document(self) -> None:
        out = self.output_of("one_document", self.daemon.endpoint)
        self.assertIn("assistant: The code of the red door is 4711.\n", out)
        self.assertIn("assistant: The capital of France is Paris.\n", out)
        tokens = re.findall(r"the document: (\d+) tokens", out)
        for reused in re.findall(r"(\d+) reused", out):
            self.assertGreaterEqual(int(reused), int(tokens[0]))

    def test_stream_async(self) -> None:
        out = self.output_of("stream_async", self.daemon.endpoint)
        self.assertIn("What is the capital of France? [stop] The capital of France is Paris.", out)
        self.assertIn("What does the word happy mean? [", out)


if __name__ == "__main__":
    unittest.main()
