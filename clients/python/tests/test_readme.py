"""The README's Python does what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

from cascade_llm import ChunkedLLM, Client
from support import DEMO_MODEL, PATIENCE_S, ROOT, DaemonTest

README = (ROOT / "clients" / "python" / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


class ReadmeTest(DaemonTest):
    def run_code(self, code: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=ROOT,
            env={**os.environ, "CASCADE_ENDPOINT": self.daemon.endpoint},
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_the_first_example(self) -> None:
        lines = self.run_code(BLOCKS[0]).splitlines()
        self.assertTrue((ROOT / "models" / "demo").samefile(DEMO_MODEL))
        for line in lines[:2]:
            self.assertRegex(BLOCKS[0], f"# {re.escape(line)}")
        self.assertEqual(len(lines), 3)

    def test_the_second_example(self) -> None:
        self.assertEqual(
            self.run_code(BLOCKS[1]).rstrip().rsplit(" ", 1)[0],
            "The capital of France is Paris." + "The capital of France is Paris.",
        )

    def test_the_errors_are_as_they_are_shown(self) -> None:
        shown = re.findall(r"^    >>> (.*)\n    CascadeError: (.*)$", README, re.MULTILINE)
        self.assertEqual(len(shown), 3)
        for code, message in shown:
            self.assertEqual(
                self.run_code(
                    "from cascade_llm import *\n"
                    "client = Client()\n"
                    f"try: {code}\n"
                    "except CascadeError as error: print(error)\n"
                ).strip(),
                message,
            )

    def test_the_asyncio_example(self) -> None:
        body = "\n".join("    " + line for line in BLOCKS[2].splitlines())
        out = self.run_code(
            "import asyncio\n"
            "from cascade_llm import *\n"
            "async def main():\n"
            '    request = GenerateRequest(prompt="The", max_tokens=3)\n'
            f"{body}\n"
            "    print(final.finish_reason)\n"
            "asyncio.run(main())\n"
        )
        self.assertEqual(out, "length\n")

    def test_an_answer_of_a_given_form(self) -> None:
        self.assertEqual(self.run_code(BLOCKS[3]), "Paris\n")

    def test_an_event_is_told(self) -> None:
        self.assertRegex(self.run_code(BLOCKS[4]), r"^\d+ chunk_stored CONTEXT \d+\n$")

    def test_every_method_is_named(self) -> None:
        names = [name for of in (Client, ChunkedLLM) for name in vars(of) if name[0] != "_"]
        unnamed = [name for name in names if not re.search(rf"\b{name}\b", README)]
        self.assertEqual(unnamed, [])


if __name__ == "__main__":
    unittest.main()
