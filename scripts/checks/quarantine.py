"""tests/quarantine.txt: the tests that are known to fail by chance, until they are repaired."""
import dataclasses
import datetime

ENTRIES_MAX = 5


@dataclasses.dataclass
class Entry:
    name: str
    date: str
    known: str


def read_quarantine(text):
    """The entries of the file, a line each: "name | date | what is known". Lines that begin with
    "#" are comments.
    Raises ValueError, with the line's number and what is wrong with it."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|", 2)]
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"line {number}: write \"name | date | what is known\"")
        try:
            datetime.date.fromisoformat(parts[1])
        except ValueError:
            raise ValueError(f"line {number}: \"{parts[1]}\" is no date like 2026-12-31") from None
        entries.append(Entry(*parts))
    if len(entries) > ENTRIES_MAX:
        raise ValueError(f"{len(entries)} tests; the limit is {ENTRIES_MAX}: mend some first")
    return entries
