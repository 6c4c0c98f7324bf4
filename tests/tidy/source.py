"""Reads C++ just well enough: comments and literals blanked out, includes, function borders."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<raw>\bR"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)")
  | (?P<line>//(?:[^\n\\]|\\.|\\\n)*)
  | (?P<block>/\*.*?\*/)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<separator>(?<=[0-9a-fA-F])'(?=[0-9a-fA-F]))
  | (?P<char>'(?:[^'\\\n]|\\.)+')
    """,
    re.VERBOSE | re.DOTALL,
)

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip(text):
    """The text with comments and the insides of literals blanked; every line keeps its number."""

    def replace(match):
        if match.lastgroup == "separator":
            return "_"
        if match.lastgroup in ("line", "block"):
            return _blank(match.group())
        return '"' + _blank(match.group()[1:-1]) + '"'

    return _TOKEN.sub(replace, text)


def includes(text):
    """(line, path) of every include, also of those in angle brackets."""
    without_comments = _TOKEN.sub(
        lambda m: _blank(m.group()) if m.lastgroup in ("line", "block") else m.group(), text)
    return [(line_of(text, m.start()), m.group(1)) for m in _INCLUDE.finditer(without_comments)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


@dataclass
class Function:
    name: str
    line: int
    length: int


_CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*\"")
_INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
_NAME = re.compile(r"((?:~?\w+::)*(?:operator\s*[^\s\w(]+|operator\s+\w+|~?\w+))\s*\(")


def _is_container(head):
    before_parenthesis = head.split("(", 1)[0]
    if re.search(r"\benum\b|\bnamespace\b", before_parenthesis):
        return True
    if not _CONTAINER.search(head):
        return False
    # `struct Foo Make() {` is a function, `class alignas(64) Foo {` is not.
    return not re.search(r"\)\s*(const|noexcept|override|final|&|->.*)*\s*$", head)


def _is_initialiser(head):
    """A brace of a constructor's member list, rather than of its body."""
    return bool(_INITIALISERS.search(head)) and head.rstrip()[-1:] not in (")", "}", "]")


def _is_function(head):
    if "(" not in head:
        return False
    outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", head))
    return not re.search(r"(?<![=!<>])=(?!=)", re.sub(r"operator\s*\S+", "", outside))


def _match(code, start):
    """The offset just behind the brace that closes the one at `start`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return len(code)


def functions(text):
    """Every function with a body outside of other functions; lambdas belong to where they stand."""
    code = _DIRECTIVE.sub(lambda m: _blank(m.group()), strip(text))
    found = []
    head_start = position = 0
    while True:
        match = re.compile(r"[;{}]").search(code, position)
        if match is None:
            return found
        head = code[head_start:match.start()]
        if match.group() != "{":
            head_start = position = match.end()
        elif _is_initialiser(head):
            position = _match(code, match.start())
        elif _is_container(head):
            head_start = position = match.end()
        else:
            end = _match(code, match.start())
            if _is_function(head):
                found.append(_function(code, head, head_start, end))
            head_start = position = end


def _function(code, head, head_start, end):
    # Access labels and whatever else stands before the declaration's own first word don't count.
    skipped = re.match(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*", head).end()
    first = line_of(code, head_start + skipped)
    name = _NAME.search(head[skipped:])
    return Function(name.group(1) if name else "?", first, line_of(code, end - 1) - first + 1)
