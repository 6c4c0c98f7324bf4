"""The checks: each takes a file's path and text and yields findings."""

import fnmatch
import re
from dataclasses import dataclass

import law
import source


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str
    # For the rules of length: what was measured, and of what. Zero elsewhere.
    measure: int = 0
    name: str = ""

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


def is_cpp(path):
    return path.endswith((".h", ".cc"))


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def within_any(path, folders):
    return any(within(path, folder) for folder in folders)


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def room_of(path):
    """The folder of the law's table that the file belongs to, or None."""
    rooms = [folder for folder in law.ROOMS if within(path, folder)]
    return max(rooms, key=len) if rooms else None


def check_layers(path, text):
    """Which room may include which."""
    if not is_cpp(path) or within_any(path, law.UNRESTRICTED):
        return
    room = room_of(path)
    if room is None:
        yield Finding(path, 1, "layers", "belongs to no room of tests/tidy/law.py; add it there")
        return
    offered = re.search(r"/include/([^/]+)/[^/]+\.h$", "/" + path)
    if offered and not matches(offered.group(1), law.ROOMS[room]):
        yield Finding(path, 1, "layers", f"{room} offers {offered.group(1)}/, unknown to law.py")
    known = set().union(*law.ROOMS.values())
    for line, include in source.includes(text):
        first = include.split("/")[0]
        if "/" not in include or not matches(first, known) or include == "phalanx/types.h":
            continue
        if not matches(first, law.ROOMS[room] | law.COMMON):
            yield Finding(path, line, "layers", f"{room} may not include {include}")


def check_vendors(path, text):
    """Outside libraries stay in their own rooms."""
    if not is_cpp(path) or within_any(path, law.UNRESTRICTED):
        return
    for line, include in source.includes(text):
        for pattern, folders in law.VENDORS.items():
            if fnmatch.fnmatchcase(include, pattern) and not within_any(path, folders):
                where = ", ".join(folders) or "nowhere outside of the tests"
                yield Finding(path, line, "vendors", f"{include} may be included in: {where}")
        for folder, patterns in law.VENDOR_FREE.items():
            if within(path, folder) and matches(include, patterns):
                yield Finding(path, line, "vendors", f"{folder} must do without {include}")


def check_pure(path, text):
    """Pure rooms reach for nothing outside."""
    if not is_cpp(path) or not within_any(path, law.PURE):
        return
    for line, include in source.includes(text):
        if matches(include, law.PURE_FORBIDDEN_INCLUDES):
            yield Finding(path, line, "pure", f"a pure room may not include {include}")
    code = source.strip(text)
    calls = "|".join(law.PURE_FORBIDDEN_CALLS)
    names = "|".join(re.escape(name) for name in law.PURE_FORBIDDEN_NAMES)
    pattern = rf"(?:(?<![\w.>:])|(?<=std::)|(?<=\W::))(?:{calls})\s*\(|(?:{names})\b"
    for match in re.finditer(pattern, code):
        name = match.group().rstrip("( ")
        yield Finding(path, source.line_of(code, match.start()), "pure",
                      f"a pure room may not use {name}; take it as an argument")


def check_shipped(path, text):
    """No sleeping, no bare fences in what is shipped."""
    if not is_cpp(path) or not within_any(path, law.SHIPPED):
        return
    code = source.strip(text)
    for pattern, why in law.SHIPPED_FORBIDDEN.items():
        for match in re.finditer(pattern, code):
            yield Finding(path, source.line_of(code, match.start()), "shipped",
                          f"{match.group().rstrip('( ')} {why}")


def check_words(path, text):
    """Nothing is left for later, and no tool is told to look away."""
    pattern = r"\b(" + "|".join(law.BANNED_WORDS) + r")\b|\b" + law.BANNED_WORDS[3]
    for match in re.finditer(pattern, text):
        yield Finding(path, source.line_of(text, match.start()), "words",
                      f"{match.group()}: do it now or file an issue")


def check_header_comment(path, text):
    """Every header says first what it is."""
    if path.endswith(".h") and not text.startswith(("//", "/*")):
        yield Finding(path, 1, "comment", "a header begins with a comment that says what it is")


def check_lengths(path, text):
    """Short functions, short files."""
    if is_cpp(path):
        for function in source.functions(text):
            if function.length > law.LONGEST_FUNCTION:
                yield Finding(path, function.line, "function-length",
                              f"{function.name} has {function.length} lines, more than "
                              f"{law.LONGEST_FUNCTION}", function.length, function.name)
    if is_cpp(path) or path.endswith(".py"):
        lines = text.count("\n")
        if lines > law.LONGEST_FILE:
            yield Finding(path, 1, "file-length", f"{lines} lines, more than {law.LONGEST_FILE}",
                          lines)


_ROOM_CALL = re.compile(r"\bphalanx_room\(([^)]*)\)")


def room_prefixes(texts):
    """Target -> the first parts of the include paths that its room offers."""
    prefixes = {"phalanx::public": {"phalanx"}, "phalanx::asio": {"asio", "asio.hpp"}}
    for path, text in texts.items():
        if not path.endswith("CMakeLists.txt"):
            continue
        root = path.rpartition("/")[0] + "/include/"
        offered = {header.removeprefix(root).split("/")[0] for header in texts
                   if header.startswith(root)}
        for match in _ROOM_CALL.finditer(text):
            prefixes["phalanx::" + match.group(1).split()[0]] = offered
    return prefixes


def _public_targets(words):
    """What stands behind PUBLIC in the arguments of a call."""
    keyword = None
    for word in words:
        if word in ("PUBLIC", "PRIVATE", "SOURCES"):
            keyword = word
        elif keyword == "PUBLIC":
            yield word


def check_public_links(texts):
    """A PUBLIC link of a room that none of its headers needs leaks that room to all who link it."""
    prefixes = room_prefixes(texts)
    for path, text in texts.items():
        if not path.endswith("CMakeLists.txt"):
            continue
        folder = path.rpartition("/")[0]
        included = {include.split("/")[0]
                    for header, content in texts.items()
                    if header.endswith(".h") and within(header, f"{folder}/include")
                    for _, include in source.includes(content)}
        for match in _ROOM_CALL.finditer(text):
            words = re.sub(r"#.*", "", match.group(1)).split()
            for target in _public_targets(words):
                # Everybody sees base.
                if target not in prefixes or target == "phalanx::base":
                    continue
                if not prefixes[target] & included:
                    yield Finding(path, source.line_of(text, match.start()), "links",
                                  f"no header of {words[0]} needs {target}: link it PRIVATE")


FILE_CHECKS = [check_layers, check_vendors, check_pure, check_shipped, check_words,
               check_header_comment, check_lengths]
