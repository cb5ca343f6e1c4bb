"""One run of steps: it continues after a failure, and reports everything at its end."""
import datetime
import os
import pathlib
import subprocess
import time
import xml.etree.ElementTree

from quarantine import read_quarantine
from report import Step, format_report
from results import FAILED, merge_repeat, read_junit

SOURCE = pathlib.Path(__file__).resolve().parents[2]
REPEATS = 2  # how often a failed test is repeated,
REPEATED_MAX = 20  # unless more tests failed: that is not by chance
# Random tests draw the same in every run except `./check --long`: a seed that finds an old fault
# becomes a test, and does not stop a change that has nothing to do with it.
SEED = "1"
CORES = len(os.sched_getaffinity(0))
# After this time a test is considered to hang.
TIMEOUT_S = 300
LONG_TIMEOUT_S = 7200


class Run:
    """Steps in turn. Each returns whether it went well, so that the next can depend on it.
    `long`: tests do all their cases and sizes, and random ones draw new seeds."""

    def __init__(self, long=False):
        self.long = long
        self.steps = []
        self.results = []

    def command(self, title, command, environment=None, **more):
        """Runs a command, which prints as it likes."""
        print(f"==> {title}", flush=True)
        begin = time.monotonic()
        environment = {**os.environ, **(environment or {})}
        try:
            good = subprocess.run(command, cwd=SOURCE, env=environment, check=False,
                                  **more).returncode == 0
        except OSError as error:  # the program does not exist
            print(error, flush=True)
            good = False
        self.steps.append(Step(title, time.monotonic() - begin, good))
        return good

    def build(self, preset, *targets):
        """Configures and builds a preset, all of it unless targets are named."""
        what = " ".join(targets) or "everything"
        timeout_s = LONG_TIMEOUT_S if self.long else TIMEOUT_S
        if not self.command(f"configure: {preset}", ["cmake", "--preset", preset,
                                                     f"-DCASCADE_TEST_TIMEOUT={timeout_s}"],
                            stdout=subprocess.DEVNULL):
            return False
        command = ["cmake", "--build", "--preset", preset]
        if targets:
            command += ["--target", *targets]
        # After an error everything else is still built, so that all errors are reported.
        return self.command(f"build: {preset}, {what}",
                            command + ["--parallel", str(CORES), "--", "-k", "0"])

    def tests(self, title, preset, *arguments):
        """Runs the tests of a built preset that the arguments of ctest choose. Failed tests are
        repeated, one at a time."""
        title = f"test: {preset}, {title}"
        print(f"==> {title}", flush=True)
        environment = dict(os.environ)
        if self.long:
            environment["CASCADE_LONG_TESTS"] = "1"
        else:
            environment.setdefault("CASCADE_TEST_SEED", SEED)
        begin = time.monotonic()
        results = ctest(preset, ["-j", str(CORES), *arguments], environment)
        for _ in range(REPEATS):
            failing = [result.name for result in results if result.state == FAILED]
            if not 0 < len(failing) <= REPEATED_MAX:
                break
            print(f"==> again, since they failed: {', '.join(failing)}", flush=True)
            merge_repeat(results, ctest(preset, ["--rerun-failed", *arguments], environment))
        for result in results:
            result.build = preset
        good = bool(results) and all(result.state != FAILED for result in results)
        self.steps.append(Step(title, time.monotonic() - begin, good, is_test=bool(results)))
        self.results += results
        return good

    def finish(self):
        """Prints the report; returns the exit status."""
        today = datetime.date.today().isoformat()
        try:
            quarantine = read_quarantine((SOURCE / "tests/quarantine.txt").read_text())
        except (OSError, ValueError) as error:
            quarantine = []
            self.steps.append(Step(f"tests/quarantine.txt: {error}", 0, False))
        print(format_report(self.steps, self.results, quarantine, today), flush=True)
        return 0 if all(step.good for step in self.steps) else 1


def ctest(preset, arguments, environment):
    """The results of one call of ctest; none if it could not run, was killed or found no test. On a
    terminal it shows its progress."""
    junit = SOURCE / "build" / preset / "Testing/results.xml"
    junit.unlink(missing_ok=True)
    on_terminal = os.isatty(1)
    command = ["ctest", "--preset", preset, "--output-junit", junit,
               "--test-output-size-passed", "20000", "--test-output-truncation", "head",
               *arguments, "--progress" if on_terminal else "--quiet"]
    try:
        subprocess.run(command, cwd=SOURCE, env=environment, check=False)
        return read_junit(junit.read_text(errors="replace"))
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(error, flush=True)
        return []
