#!/usr/bin/env python3
"""Scans the tree for what the compiler can't see: the law of the layers and the limits of style.

usage: tidy.py ROOT     prints one line per finding and exits with 1 if there are any
"""

import os
import sys

import checks

SUFFIXES = (".h", ".cc", ".py", ".cmake", ".fbs", ".sh", "CMakeLists.txt")
RATCHET = "tests/tidy/ratchet.txt"


def files(root):
    """Paths, relative to the root, of every file that is ours."""
    for folder, subfolders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        subfolders[:] = sorted(name for name in subfolders
                               if not name.startswith(".") and name != "__pycache__"
                               and not (relative == "." and name in ("build", "out")))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(relative, name))
            if name.endswith(SUFFIXES) or path == "dev":
                yield path


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def read_ratchet(text):
    """{(rule, path, name): measure} of the exceptions that are let through."""
    exceptions = {}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        rule, place, measure = words
        path, _, name = place.partition(":")
        exceptions[(rule, path, name)] = int(measure)
    return exceptions


def apply_ratchet(findings, exceptions):
    """Lets known exceptions through at exactly their number: they may shrink, never grow or linger."""
    left = dict(exceptions)
    for finding in findings:
        key = (finding.rule, finding.path, finding.name)
        if not finding.measure or key not in left:
            yield finding
            continue
        allowed = left.pop(key)
        if finding.measure > allowed:
            yield finding
        elif finding.measure < allowed:
            yield checks.Finding(RATCHET, 1, "ratchet",
                                 f"{' '.join(key)} is down to {finding.measure}: lower its number")
    for key in left:
        yield checks.Finding(RATCHET, 1, "ratchet", f"{' '.join(key)} is no longer over: remove it")


def scan(root):
    """All findings of the tree."""
    paths = list(files(root))
    texts = {path: read(root, path) for path in paths}

    found = [finding for path, text in texts.items() for check in checks.FILE_CHECKS
             for finding in check(path, text)]
    found.extend(checks.check_public_links(texts))
    exceptions = read_ratchet(read(root, RATCHET))
    return len(paths), list(apply_ratchet(found, exceptions))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    count, findings = scan(sys.argv[1])
    for finding in findings:
        print(finding)
    print(f"{count} files, {len(findings)} findings")
    return 1 if findings or not count else 0


if __name__ == "__main__":
    sys.exit(main())
