"""What `./check` and .ci/run do. Usage: see check."""
import subprocess
import sys

from run import Run

PRESETS = ("release", "debug", "asan", "asan-all", "tsan")
USAGE = f"""\
usage: ./check [PRESET]          every test but the long ones
       ./check fast [REGEX]      those that start no program, or of them those that match
       ./check --long [PRESET]   all that there is: hours
       ./check ci                what a change must pass
PRESET: {', '.join(PRESETS)}; release unless given."""


def install(run, with_node=True):
    run.command("packages", ["scripts/install-packages"])
    if with_node:
        run.command("packages for Node", ["scripts/install-node-packages"])


def quick(run, preset):
    """First the checks that need no long build: the tree's own rules, generated files."""
    return run.build(preset, "tidy_test") and run.tests("quick", preset, "-L", "quick")


def fast(run, regex):
    install(run, with_node=False)
    chosen = ["-R", regex] if regex else []
    if run.build("release", "tidy_test", "unit_tests"):
        run.tests("no programs", "release", "-L", "unit|quick", *chosen)


def check(run, preset):
    install(run)
    quick(run, preset)
    if run.build(preset):
        run.tests("all", preset, "-LE", "quick")


def ci(run):
    """Every test once, in the build in which it finds most."""
    install(run)
    quick(run, "release")
    if run.build("release", "release_tests"):
        run.tests("programs and bits", "release", "-L", "whole|bits|tools")
    if run.build("asan", "sanitized_tests"):
        run.tests("units", "asan", "-L", "unit", "-LE", "tools")
    run.command("quickstart", ["./quickstart"], stdin=subprocess.DEVNULL)


def long(run, preset):
    """Takes hours: new seeds, all sizes, all sanitizer checks, other machines, fuzzers, agents."""
    install(run)
    own_steps = r"^Agents\.|^Service\.test_fresh_root$"
    is_built = run.build(preset)
    if is_built:
        run.tests("all", preset, "-E", own_steps + r"|^Kill\.loses")
    if run.build("asan-all"):
        run.tests("all", "asan-all", "-E", own_steps)
    run.command("packages for the fuzzers",
                ["scripts/install-packages", "clang", "libclang-rt-dev"])
    run.command("fuzz: every reader of what others write", ["scripts/fuzz"])
    run.command("other machines", ["scripts/test-machines"],
                environment={"CASCADE_LONG_TESTS": "1"})
    if not is_built:
        return
    run.command("packages for the agents", ["scripts/install-packages", "iproute2"])
    run.command("the agents", ["scripts/install-node-packages", "tests/agents"])
    run.tests("coding agents", preset, "-R", r"^Agents\.")
    run.command("10,000 kills", [f"build/{preset}/bin/system_test", "--gtest_filter=Kill.loses*"],
                environment={"CASCADE_KILL_ROUNDS": "10000"})
    run.command("packages for a fresh Debian", ["scripts/install-packages", "debootstrap"])
    run.tests("the packages on a fresh Debian", preset, "-R", r"^Service\.test_fresh_root$")


def main(arguments):
    run = Run(long=arguments[:1] == ["--long"])
    match arguments:
        case ["fast"]:
            fast(run, None)
        case ["fast", regex]:
            fast(run, regex)
        case ["ci"]:
            ci(run)
        case ["--long"]:
            long(run, "release")
        case ["--long", preset] if preset in PRESETS:
            long(run, preset)
        case []:
            check(run, "release")
        case [preset] if preset in PRESETS:
            check(run, preset)
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return run.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
