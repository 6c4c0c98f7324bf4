#!/usr/bin/env python3
"""Checks with the compiler that an include which the law forbids does not compile.

usage: include_roots_test.py SOURCE_DIR BUILD_DIR

Takes one source of each room from the compile commands of the build and gives the preprocessor, with
exactly its flags, an include of every other room's header: a forbidden one must not be found.
"""

import json
import os
import shlex
import subprocess
import sys

import checks
import law
import tidy


def command_per_room(source_dir, build_dir):
    """Room -> (folder, compiler flags) of one of its sources."""
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = os.path.relpath(entry["file"], source_dir)
        room = checks.room_of(path)
        # Programs and tests of the same folder link more than a room does.
        if room is None or room in ("tools", "examples", "stress"):
            continue
        commands.setdefault(os.path.dirname(path),
                            (room, entry["directory"], shlex.split(entry["command"])))
    return commands


def header_per_room(source_dir):
    """First part of the include path -> one header of that room."""
    headers = {}
    for path in tidy.files(source_dir):
        parts = path.split("/")
        if path.endswith(".h") and "include" in parts[:-2]:
            headers.setdefault(parts[-2], "/".join(parts[-2:]))
    return headers


def finds(directory, command, include):
    """Whether the preprocessor, called as for this source, finds the header."""
    flags = []
    skip = False
    for word in command:
        if skip or word == "-c":
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-MD", "-MMD") and not word.endswith(".cc"):
            flags.append(word)
    probe = f'#if !__has_include("{include}")\n#error not found\n#endif\n'
    done = subprocess.run([*flags, "-E", "-x", "c++", "-"], cwd=directory, input=probe, text=True,
                          capture_output=True, timeout=60, check=False)
    if done.returncode and "not found" not in done.stderr:
        sys.exit(f"could not run the compiler: {done.stderr}")
    return done.returncode == 0


def main():
    source_dir, build_dir = (os.path.realpath(path) for path in sys.argv[1:3])
    headers = header_per_room(source_dir)
    tried = failures = 0
    for folder, (room, directory, command) in command_per_room(source_dir, build_dir).items():
        own = f"{folder}/include/"
        for first, header in sorted(headers.items()):
            allowed = law.ROOMS[room] | law.COMMON | {"phalanx"}
            if os.path.isdir(os.path.join(source_dir, own, first)):
                if not finds(directory, command, header):
                    sys.exit(f"{folder} doesn't find its own {header}: this test is broken")
            elif not checks.matches(first, allowed):
                tried += 1
                if finds(directory, command, header):
                    failures += 1
                    print(f"{folder} can include {header}, which the law forbids: "
                          "something it links leaks that room")
    print(f"{tried} forbidden includes tried, {failures} compile")
    return 1 if failures or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
