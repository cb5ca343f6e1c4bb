"""Prints what failed in a JUnit file of ctest. Exit code 1 if anything did."""
import pathlib
import sys

from report import last_lines
from results import FAILED, PASSED, read_junit

try:
    results = read_junit(pathlib.Path(sys.argv[1]).read_text(errors="replace"))
except OSError:
    sys.exit("ctest has not run")
failed = [result for result in results if result.state == FAILED]
for result in failed:
    print(f"FAILED: {result.name}\n{last_lines(result.output)}")
print(f"    {sum(result.state == PASSED for result in results)} passed, {len(failed)} failed",
      flush=True)
sys.exit(1 if failed or not results else 0)
