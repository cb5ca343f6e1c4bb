"""The end of a run as text: steps, slow tests, skipped tests, flaky tests, failed tests."""
import dataclasses

from results import FAILED, PASSED, SKIPPED, skip_reason, skipped_parts

SLOWEST = 10
OUTPUT_LINES = 60  # the end of a failure's output


@dataclasses.dataclass
class Step:
    title: str
    seconds: float
    good: bool
    is_test: bool = False  # its failures are those of its tests


def clock(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def last_lines(text):
    lines = text.rstrip().splitlines()
    cut = len(lines) - OUTPUT_LINES
    head = [f"[{cut} lines before]"] if cut > 0 else []
    return "\n".join("    " + line for line in head + lines[-OUTPUT_LINES:])


def format_report(steps, results, quarantine, today):
    """`today`: a date as text. The last line counts the tests that passed, failed and were skipped;
    a step that failed and is not a test counts as one failure."""
    text = ["", "==> steps"]
    for step in steps:
        state = "ok    " if step.good else "FAILED"
        text.append(f"  {clock(step.seconds):>6}  {state}  {step.title}")
    text.append(f"  {clock(sum(step.seconds for step in steps)):>6}          in all")

    text += ["", f"==> the {SLOWEST} slowest tests"]
    for result in sorted(results, key=lambda result: -result.seconds)[:SLOWEST]:
        text.append(f"  {result.seconds:6.1f} s  {result.title}")

    skipped = [result for result in results if result.state == SKIPPED]
    parts = [(result, part) for result in results for part in skipped_parts(result)]
    if skipped or parts:
        text += ["", "==> skipped"]
        text += [f"  {result.title}: {skip_reason(result)}" for result in skipped]
        text += [f"  {result.title}, a part: {part}" for result, part in parts]

    flaky = [result for result in results if result.is_flaky]
    known = {entry.name: entry for entry in quarantine}
    if flaky:
        text += ["", "==> flaky: these passed only when they were repeated"]
    for result in flaky:
        entry = known.get(result.name)
        text.append(f"  {result.title}: " +
                    (f"in quarantine since {entry.date}: {entry.known}" if entry else
                     f"new; mend it, or add to tests/quarantine.txt: {result.name} | {today} | "
                     "what is known"))
        text += [last_lines(output) for output in result.failures]

    failed = [result for result in results if result.state == FAILED]
    bad_steps = [step.title for step in steps if not step.good and not step.is_test]
    if failed or bad_steps:
        text += ["", "==> FAILED"]
        text += [f"  {title}" for title in bad_steps]
        for result in failed:
            text += [f"  {result.title}", last_lines(result.output)]
        # The same end as ctest's, for those who look for it.
        text += ["", "The following tests FAILED:"]
        names = bad_steps + [result.title for result in failed]
        text += [f"\t{number} - {name} (Failed)" for number, name in enumerate(names, 1)]

    passed = sum(result.state == PASSED for result in results)
    text += ["", f"{passed} passed, {len(failed) + len(bad_steps)} failed, {len(skipped)} skipped"]
    return "\n".join(text)
