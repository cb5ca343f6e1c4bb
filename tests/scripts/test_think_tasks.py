"""The tasks that scripts/think-tasks writes: where the code that is asked for stands."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/think-tasks"
TEXT = "\n\n".join(f"Paragraph {i} has some words, and no code at all." for i in range(20))


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


class ThinkTasks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.text = pathlib.Path(folder.name) / "text"
        self.text.write_text(TEXT, encoding="utf8")

    def tasks(self, *arguments):
        result = run("--text", self.text, "--tokens", "100", "--thought-tokens", "20", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_the_kind_says_where_the_code_stands(self):
        places = {"notes": (1, 0, 0), "repeated": (1, 1, 1), "worked": (0, 1, 1),
                  "thought": (0, 1, 0)}
        tasks = self.tasks("--count", "5")
        self.assertEqual([task["kind"] for task in tasks],
                         [kind for kind in places for _ in range(5)])
        for task in tasks:
            notes = task["messages"][1]["content"]
            code = re.search(r"\d{4}", task["answer"]).group()
            found = tuple(text.count(code) for text in (notes, task["thought"], task["reply"]))
            self.assertEqual(found, places[task["kind"]], task["id"])
            # No other thing has the same code.
            self.assertEqual(notes.count(task["answer"]), places[task["kind"]][0])
            asked = re.search(r"code of the \w+ \w+", task["question"]).group()
            self.assertIn(asked, task["answer"])

    def test_the_same_arguments_give_the_same_tasks(self):
        self.assertEqual(self.tasks("--count", "2"), self.tasks("--count", "2"))
        self.assertNotEqual(self.tasks("--count", "2"), self.tasks("--count", "2", "--seed", "2"))

    def test_wrong_arguments_are_named(self):
        for arguments, error in (
                (["--text", "/nowhere"], "--text: /nowhere: "),
                (["--text", self.text, "--facts", "0"], "--facts must be at least 1"),
                (["--text", self.text, "--thought-tokens", "-1"],
                 "--thought-tokens must be at least 0"),
                (["--text", self.text, "--others", "240"],
                 "--facts and --others together must be less than 240")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(error, result.stderr)


if __name__ == "__main__":
    unittest.main()
