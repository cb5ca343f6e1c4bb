"""What `./check` and .ci/run do. Usage: see check."""
import subprocess
import sys

from run import Run, SOURCE

PRESETS = ("release", "debug", "asan", "asan-all", "tsan")
PROGRAMS = ("cascaded", "cascadectl", "cascade-eval", "cascade-bench")
USAGE = f"""\
usage: ./check [PRESET]          every test but the long ones
       ./check fast [REGEX]      those that start no program, or of them those that match
       ./check --long [PRESET]   all that there is: hours
       ./check ci                what a change must pass
PRESET: {', '.join(PRESETS)}; release unless given."""


def install(run, with_node=True):
    run.command("packages", ["scripts/install-packages"])
    if with_node:
        run.command("packages of Node", ["scripts/install-node-packages"])


def quick(run, preset):
    """What needs no long build, first: the tree's own rules, files that are generated."""
    return run.build(preset, "tidy_test") and run.tests("quick", preset, "-L", "quick")


def fast(run, regex):
    chosen = ["-R", regex] if regex else []
    if run.build("release", "tidy_test", "unit_tests"):
        run.tests("no programs", "release", "-L", "unit|quick", *chosen)


def check(run, preset):
    install(run)
    quick(run, preset)
    if run.build(preset):
        run.tests("all", preset, "-LE", "quick")


def ci(run):
    """Every test once, in the build that finds most with it."""
    install(run)
    quick(run, "release")
    if run.build("release", *PROGRAMS, "release_tests"):
        run.tests("programs and bits", "release", "-L", "whole|bits|tools")
    if run.build("asan", "sanitized_tests"):
        run.tests("units", "asan", "-L", "unit", "-LE", "tools")
    run.command("quickstart", ["./quickstart"], stdin=subprocess.DEVNULL)


def long(run, preset):
    """Hours: new seeds, all sizes, all sanitizer checks, other machines, fuzzers, agents."""
    install(run)
    all_long = {"new_seeds": True, "long": True}
    # These have steps of their own below.
    others = ["-E", r"^Agents\.|^Kill\.loses|^Service\.test_fresh_root$"]
    if run.build(preset):
        run.tests("all", preset, *others, **all_long)
    if run.build("asan-all"):
        run.tests("all", "asan-all", *others, **all_long)
    run.command("packages of the fuzzers", ["scripts/install-packages", "clang", "libclang-rt-dev"])
    run.command("fuzz: every reader of what others write", ["scripts/fuzz"])
    run.command("other machines", ["scripts/test-machines"])
    run.command("packages of the agents", ["scripts/install-packages", "iproute2"])
    run.command("the agents", ["scripts/install-node-packages", "tests/agents"])
    run.tests("coding agents", preset, "-R", r"^Agents\.", **all_long)
    run.command("10,000 kills", [f"build/{preset}/bin/system_test", "--gtest_filter=Kill.loses*"],
                environment={"CASCADE_KILL_ROUNDS": "10000"})
    run.command("packages of a fresh Debian", ["scripts/install-packages", "debootstrap"])
    run.tests("the packages on a fresh Debian", preset, "-R", r"^Service\.test_fresh_root$",
              **all_long)


def main(arguments):
    run = Run()
    rest = arguments[1:]
    match arguments:
        case ["fast"] | ["fast", _]:
            fast(run, rest[0] if rest else None)
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
