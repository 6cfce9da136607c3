#!/usr/bin/env python3
"""What PerfKitBenchmarker looks for in lmbench's result file, tried on one.

    expressions.py RESULT

Its benchmark `lmbench` searches the file of a run (one copy, FSDIR=/var/tmp) for three settings,
for a number and a unit behind each of fourteen labels, and reads the rows below the headings of
the context switches up to an empty line. The expressions here are those; the code is ours. Prints
what was found; ends with 1 if anything is missing.
"""

import re
import sys

SETTINGS = {"MB": r"[0-9]+", "BENCHMARK_HARDWARE": "YES|NO", "BENCHMARK_OS": "YES|NO"}
LABELS = [
    "syscall", "read", "write", "stat", "fstat", "open/close", "Signal handler installation",
    "Signal handler overhead", "Protection fault", "Pipe latency", r"Process fork\+exit",
    r"Process fork\+execve", r"Process fork\+/bin/sh -c", "Pagefaults on /var/tmp/XXX",
]
HEADING = re.compile(r'^"size=([0-9]*).* ovr=([0-9]*\.[0-9]*)$')


def samples(text):
    """Yields (what, value, unit) of everything that is looked for; the value is None if it fails."""
    for setting, pattern in SETTINGS.items():
        found = re.search(f"{setting}: ({pattern})", text)
        yield setting, found and found[1], ""
    for label in LABELS:
        # The first line with this label, which has exactly a number and a unit behind it.
        found = re.search(f"{label}: (.*)", text)
        words = found[1].split(" ") if found else []
        yield label.replace("\\", ""), float(words[0]) if len(words) == 2 else None, words[-1] if words else ""
    heading = None
    for line in text.split("\n"):
        if found := HEADING.match(line):
            heading = found[1]
        elif line == "":
            heading = None
        elif heading is not None:
            # No other line may stand between the rows.
            processes, value = line.split()
            yield f"context switch {heading}k {int(processes)}p", float(value), "microseconds"


def main():
    found = list(samples(open(sys.argv[1]).read()))
    missing = [what for what, value, _ in found if value is None]
    for what, value, unit in found:
        print(what, value, unit)
    switches = sum(what.startswith("context switch") for what, _, _ in found)
    print(f"{len(found) - len(missing)} found, {switches} context switches, missing: {missing or 'none'}")
    return 1 if missing or not switches else 0


if __name__ == "__main__":
    sys.exit(main())
