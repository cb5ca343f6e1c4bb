"""What the tests of a run came to: read from the JUnit file that ctest writes."""
import dataclasses
import re
import xml.etree.ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Result:
    """One test. `output` is what it printed last; `failures` what each try printed that failed."""
    name: str
    state: str
    seconds: float
    output: str = ""
    failures: list = dataclasses.field(default_factory=list)

    @property
    def is_flaky(self):
        return self.state == PASSED and bool(self.failures)


def read_junit(path):
    """The results in ctest's JUnit file, in its order. A test that could not be started, or whose
    program was not built, has failed."""
    results = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        # gtest's values of parameters would be a part of the name; they say nothing here.
        name = case.get("name").split("  # GetParam()")[0]
        output = case.findtext("system-out") or ""
        if case.find("skipped") is not None and case.get("status") != "fail":
            state = SKIPPED if ran(case) else FAILED
        else:
            state = PASSED if case.get("status") == "run" else FAILED
        result = Result(name, state, float(case.get("time") or 0), output)
        if state == FAILED:
            result.output = output or (case.find("skipped").get("message", "")
                                       if case.find("skipped") is not None else "")
            result.failures.append(result.output)
        results.append(result)
    return results


def ran(case):
    """Whether a case that ctest calls skipped has said so itself; else it could not be run."""
    message = case.find("skipped").get("message", "")
    return message.startswith("SKIP") or message == ""


def merge_repeat(results, repeated):
    """Takes over what the repeated tests came to; what they printed before they passed stays."""
    by_name = {result.name: result for result in results}
    for again in repeated:
        first = by_name[again.name]
        first.state = again.state
        first.seconds = again.seconds
        first.output = again.output
        first.failures += again.failures


def skip_reason(result):
    """The line in which a skipped test says why, as far as it can be found."""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    for line in lines:
        found = re.search(r"skipped[:,]? (.*)", line, re.I)
        if found and not line.startswith("["):
            return found.group(0)
    return lines[-1] if lines else "it does not say why"
