"""How ./check counts what tests came to: results, quarantine, report."""
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts/checks"))
from quarantine import ENTRIES_MAX, Entry, read_quarantine  # noqa: E402
from report import Step, format_report  # noqa: E402
from results import (FAILED, PASSED, SKIPPED, Result, merge_repeat, read_junit,  # noqa: E402
                     skip_reason)

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="6">
  <testcase name="Good.works" time="0.5" status="run"><system-out>fine</system-out></testcase>
  <testcase name="Bad.breaks" time="0.25" status="fail"><failure message=""/>
    <system-out>broken</system-out></testcase>
  <testcase name="Code.skips" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>SKIPPED, since it is not run</system-out></testcase>
  <testcase name="Text.skips" time="0" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN ] Text.skips
x.cc:3: Skipped
SKIPPED: reference data absent
[  SKIPPED ] Text.skips</system-out></testcase>
  <testcase name="Missing_NOT_BUILT" time="0" status="notrun">
    <skipped message="Unable to find executable"/>
    <system-out>Unable to find executable: x</system-out></testcase>
  <testcase name="All/Off.rests/a  # GetParam() = (1, 2)" time="0" status="disabled">
    <system-out>Disabled</system-out></testcase>
</testsuite>"""


class Results(unittest.TestCase):
    def test_what_could_not_be_run_has_failed(self):
        states = {result.name: result.state for result in read_junit(JUNIT)}
        self.assertEqual(states, {"Good.works": PASSED, "Bad.breaks": FAILED,
                                  "Code.skips": SKIPPED, "Text.skips": SKIPPED,
                                  "Missing_NOT_BUILT": FAILED, "All/Off.rests/a": SKIPPED})

    def test_a_skipped_test_says_why(self):
        reasons = {result.name: skip_reason(result) for result in read_junit(JUNIT)}
        self.assertEqual(reasons["Code.skips"], "SKIPPED, since it is not run")
        self.assertEqual(reasons["Text.skips"], "SKIPPED: reference data absent")
        self.assertEqual(skip_reason(Result("quiet", SKIPPED, 0)), "it does not say why")

    def test_a_repeat_that_passes_leaves_the_failure_to_be_told(self):
        results = read_junit(JUNIT)
        merge_repeat(results, [Result("Bad.breaks", FAILED, 1, "again", ["again"])])
        merge_repeat(results, [Result("Bad.breaks", PASSED, 2, "fine")])
        bad = results[1]
        self.assertEqual((bad.state, bad.is_flaky), (PASSED, True))
        self.assertEqual(bad.failures, ["broken", "again"])
        self.assertFalse(results[0].is_flaky)

    def test_a_repeat_that_skips_itself_is_no_pass(self):
        results = read_junit(JUNIT)
        merge_repeat(results, [Result("Bad.breaks", SKIPPED, 0, "skipped: not now")])
        self.assertEqual(results[1].state, FAILED)

    def test_a_crash_without_a_word_is_told_as_one(self):
        text = JUNIT.replace("<system-out>broken</system-out>", "<system-out></system-out>")
        self.assertIn("hung or crashed after 0.25 s", read_junit(text)[1].output)


class Quarantine(unittest.TestCase):
    def test_has_a_name_a_date_and_what_is_known(self):
        entries = read_quarantine("# a comment\n\nA.b | 2026-12-31 | waits | for #2\n")
        self.assertEqual(entries, [Entry("A.b", "2026-12-31", "waits | for #2")])

    def test_refuses_what_is_not_complete(self):
        for line, message in [("A.b", "write"), ("A.b | 2026-12-31 |", "write"),
                              ("A.b | soon | unknown", "no date")]:
            with self.assertRaisesRegex(ValueError, "line 2: .*" + message):
                read_quarantine("# a comment\n" + line)

    def test_is_short(self):
        lines = [f"A.b{i} | 2026-12-31 | known" for i in range(ENTRIES_MAX + 1)]
        self.assertEqual(len(read_quarantine("\n".join(lines[1:]))), ENTRIES_MAX)
        with self.assertRaisesRegex(ValueError, "the limit is 5"):
            read_quarantine("\n".join(lines))

    def test_of_the_project_can_be_read(self):
        read_quarantine((SOURCE / "tests/quarantine.txt").read_text())


class Report(unittest.TestCase):
    def test_ends_with_the_counts(self):
        text = format_report([Step("build", 61, True), Step("test", 5, False, is_test=True)],
                             read_junit(JUNIT), [], "2026-11-30")
        self.assertEqual(text.splitlines()[-1], "1 passed, 2 failed, 3 skipped")
        self.assertIn("1:01  ok      build", text)
        self.assertIn("  Bad.breaks\n    broken\n", text)

    def test_tells_what_a_test_that_passed_has_left_out(self):
        output = "test_build (Packages.test_build) ... skipped 'takes minutes'\nOK (skipped=1)"
        text = format_report([], [Result("Service.package", PASSED, 1, output)], [], "2026-11-30")
        self.assertIn("  Service.package, a part: test_build (Packages.test_build) ... skipped "
                      "'takes minutes'", text)
        self.assertEqual(text.splitlines()[-1], "1 passed, 0 failed, 0 skipped")

    def test_counts_a_step_that_failed_before_its_tests(self):
        text = format_report([Step("build", 61, False)], [], [], "2026-11-30")
        self.assertEqual(text.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_tells_what_was_flaky_with_the_line_for_the_quarantine(self):
        flaky = Result("A.b", PASSED, 1, "fine", ["it broke"])
        text = format_report([], [flaky], [], "2026-11-30")
        self.assertIn("new; mend it, or add to tests/quarantine.txt: A.b | 2026-11-30 | ", text)
        self.assertIn("    it broke", text)
        text = format_report([], [flaky], [Entry("A.b", "2026-11-01", "a race")], "2026-11-30")
        self.assertIn("in quarantine since 2026-11-01: a race", text)
        self.assertEqual(text.splitlines()[-1], "1 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
