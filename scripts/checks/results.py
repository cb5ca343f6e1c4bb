"""The results of the tests of a run, read from the JUnit file that ctest writes."""
import dataclasses
import re
import xml.etree.ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Result:
    """One test. `output`: the output of its last try; `failures`: the output of each failed try;
    `build`: the preset whose build it ran in."""
    name: str
    state: str
    seconds: float
    output: str = ""
    failures: list = dataclasses.field(default_factory=list)
    build: str = ""

    @property
    def title(self):
        """The name of the test, with the build if that is not the release."""
        return self.name if self.build in ("", "release") else f"{self.name} ({self.build})"

    @property
    def is_flaky(self):
        return self.state == PASSED and bool(self.failures)


def read_junit(text):
    """The results in ctest's JUnit text, in its order. A test that could not be started has failed,
    for example because its program was not built."""
    results = []
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        state = state_of(case)
        output = case.findtext("system-out") or ""
        if state == FAILED and not output.strip():
            output = f"It printed nothing, and hung or crashed after {case.get('time')} s."
        # gtest adds the value of the parameter, which is already in the name.
        name = case.get("name").split("  # GetParam()")[0]
        results.append(Result(name, state, float(case.get("time") or 0), output,
                              [output] if state == FAILED else []))
    return results


def state_of(case):
    if case.get("status") == "run":
        return PASSED
    skipped = case.find("skipped")
    # SKIP_RETURN_CODE or SKIP_REGULAR_EXPRESSION: the test has said so itself.
    says_so = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return SKIPPED if says_so or case.get("status") == "disabled" else FAILED


def merge_repeat(results, repeated):
    """Takes over the results of the repeated tests. The output of their first tries stays, and so
    does the failure of a test that then skips itself."""
    by_name = {result.name: result for result in results}
    for again in repeated:
        if again.state == SKIPPED:
            continue
        first = by_name[again.name]
        first.state = again.state
        first.seconds = again.seconds
        first.output = again.output
        first.failures += again.failures


def skipped_parts(result):
    """The lines in which a test that passed says that it left parts out."""
    if result.state != PASSED:
        return []
    lines = (line.strip() for line in result.output.splitlines())
    return [line for line in lines if re.search(r"\.\.\. skipped '|# SKIP\b", line)]


def skip_reason(result):
    """The line in which a skipped test says why; its last line if none does."""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    for line in lines:
        found = re.search(r"skipped[:,] .*|skipped ['\"].*", line, re.I)
        if found:
            return found.group(0)
    return lines[-1] if lines else "it does not say why"
