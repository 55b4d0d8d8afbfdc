"""A small Rust scanner: tells code from comments and literals, and finds functions and statements.

Shared by orderings.py, mutate_orderings.py and arrows.py. It knows no grammar: brackets, the
comment and literal forms, and `fn`. That is enough for text in which rustfmt has been, and a
wrong guess shows as a complaint, not as silence.
"""

import re
from bisect import bisect_right

ORDERS = ("Relaxed", "Acquire", "Release", "AcqRel", "SeqCst")
FENCES = ("fence_heavy", "fence_light")

_RAW = re.compile(r'b?c?r(#*)"')
_CHAR = re.compile(r"b?'(\\(x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])'")
_OPEN = {")": "(", "]": "[", "}": "{"}


class Comment:
    """One comment, `//` or `/* */`; `alone` if its line has no code."""

    def __init__(self, line, text):
        self.line = line
        self.text = text
        self.alone = False


class Source:
    """A file: `text` as read, `code` of the same length with comments and literals blanked."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.comments = []
        self._starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.code = self._blank()
        self.lines = text.split("\n")
        self.code_lines = self.code.split("\n")
        for c in self.comments:
            c.alone = not self.code_lines[c.line - 1].strip()
        self.test_spans = self._cfg_test()
        self.functions = self._functions()

    def line_of(self, pos):
        return bisect_right(self._starts, pos)

    def _blank(self):
        text, out, i, n = self.text, [], 0, len(self.text)

        def wipe(end, quote=False):
            # Newlines stay, so that lines keep their numbers; a literal keeps its quotes, so
            # that it still reads as an operand.
            part = re.sub(r"[^\n]", " ", text[i:end])
            if quote and len(part) >= 2:
                part = '"' + part[1:-1] + '"'
            out.append(part)
            return end

        while i < n:
            two = text[i : i + 2]
            if two == "//":
                end = text.find("\n", i)
                end = n if end < 0 else end
                self.comments.append(Comment(self.line_of(i), text[i:end]))
                i = wipe(end)
            elif two == "/*":
                depth, j = 1, i + 2
                while j < n and depth:
                    if text.startswith("/*", j):
                        depth, j = depth + 1, j + 2
                    elif text.startswith("*/", j):
                        depth, j = depth - 1, j + 2
                    else:
                        j += 1
                for k, part in enumerate(text[i:j].split("\n")):
                    self.comments.append(Comment(self.line_of(i) + k, "/*" + part))
                i = wipe(j)
            else:
                before = text[i - 1] if i else " "
                raw = None if before.isalnum() or before == "_" else _RAW.match(text, i)
                if raw:
                    end = text.find('"' + raw.group(1), raw.end())
                    i = wipe(n if end < 0 else end + 1 + len(raw.group(1)), True)
                elif text[i] == '"':
                    j = i + 1
                    while j < n and text[j] != '"':
                        j += 2 if text[j] == "\\" else 1
                    i = wipe(min(j + 1, n), True)
                elif text[i] == "'" and _CHAR.match(text, i):
                    i = wipe(_CHAR.match(text, i).end(), True)
                else:
                    out.append(text[i])
                    i += 1
        return "".join(out)

    def block_end(self, start):
        """The position after the `}` that closes the first `{` at or after `start`."""
        depth = 0
        for i in range(start, len(self.code)):
            if self.code[i] == "{":
                depth += 1
            elif self.code[i] == "}":
                depth -= 1
                if depth == 0:
                    return i + 1
        return len(self.code)

    def _cfg_test(self):
        spans = []
        for m in re.finditer(r"#\[cfg\((?:all\(\s*)?test\b[^\]]*\]", self.code):
            brace, semi = self.code.find("{", m.end()), self.code.find(";", m.end())
            if brace < 0 or 0 <= semi < brace:
                spans.append((m.start(), semi))
            else:
                spans.append((m.start(), self.block_end(brace)))
        return spans

    def in_tests(self, pos):
        return any(a <= pos < b for a, b in self.test_spans)

    def _functions(self):
        found = []
        for m in re.finditer(r"\bfn\s+(\w+)", self.code):
            # The body is the first `{` outside parentheses and brackets; `;` means none.
            depth, i = 0, m.end()
            while i < len(self.code):
                ch = self.code[i]
                if ch in "([":
                    depth += 1
                elif ch in ")]":
                    depth -= 1
                elif depth == 0 and ch in "{;":
                    break
                i += 1
            if i < len(self.code) and self.code[i] == "{":
                found.append((m.start(), self.block_end(i), m.group(1)))
        return found

    def function_at(self, pos):
        """Name of the innermost function around `pos`, or `-`."""
        inner = [f for f in self.functions if f[0] <= pos < f[1]]
        return max(inner)[2] if inner else "-"

    def statement_start(self, pos):
        """Where the statement (or match arm, or field) around `pos` begins."""
        code, depth, comma = self.code, [], None
        i = pos - 1
        while i >= 0:
            ch = code[i]
            if ch in ")]}":
                if ch == "}" and not depth:
                    # A finished block ends a statement unless an expression goes on after it.
                    follow = code[i + 1 : pos].lstrip()
                    if not follow or follow[0] not in ".?),;]=<>&|+-*/":
                        break
                depth.append(_OPEN[ch])
            elif ch in "([{":
                if depth:
                    depth.pop()
                elif ch == "{":
                    i = comma if comma is not None else i
                    break
                else:
                    comma = None
            elif not depth:
                if ch == ";":
                    break
                if ch == "," and comma is None:
                    comma = i
            i -= 1
        start = i + 1
        while start < pos and code[start].isspace():
            start += 1
        return start

    def call_at(self, pos):
        """(name, position of the opening parenthesis) of the call whose argument is at `pos`."""
        depth, i = 0, pos - 1
        while i >= 0:
            ch = self.code[i]
            if ch in ")]}":
                depth += 1
            elif ch in "([{":
                if depth == 0:
                    m = re.search(r"(\w+)\s*(?:::\s*<[^()]*>)?\s*$", self.code[:i][-200:])
                    return (m.group(1), i) if ch == "(" and m else ("value", i)
                depth -= 1
            elif ch == ";" and depth == 0:
                break
            i -= 1
        return ("value", max(i, 0))


class Site:
    """One ordering token, or one call of an asymmetric fence."""

    def __init__(self, src, pos, order, span):
        self.pos = pos
        self.order = order
        self.span = span  # of the token as written, qualifier included
        self.line = src.line_of(pos)
        self.function = src.function_at(pos)
        if order in FENCES:
            self.call, self.open = order, src.code.find("(", pos)
        else:
            self.call, self.open = src.call_at(pos)
        self.failure = False  # the second order of a compare-exchange; set by sites()


def sites(src):
    """The places of `src` outside tests where a memory ordering is used."""
    code, found = src.code, []
    skip = [m.span() for m in re.finditer(r"\buse\s+[^;]*;", code)]
    for m in re.finditer(r"\benum\s+\w+[^{;]*\{", code):
        skip.append((m.start(), src.block_end(m.start())))
    aliases = {"Ordering"} | set(re.findall(r"\bOrdering\s+as\s+(\w+)", code))
    words = "|".join(ORDERS + FENCES)
    for m in re.finditer(rf"\b({words})\b", code):
        word, pos = m.group(1), m.start()
        if src.in_tests(pos) or any(a <= pos < b for a, b in skip):
            continue
        before = code[max(0, pos - 80) : pos]
        after = code[m.end() : m.end() + 8].lstrip()
        path = re.search(r"(\w+)\s*::\s*$", before)
        if word in FENCES:
            if re.search(r"\bfn\s+$", before) or not after.startswith("("):
                continue
            if not path and not before.rstrip().endswith("."):
                continue
            found.append(Site(src, pos, word, m.span()))
            continue
        if path and path.group(1) not in aliases:
            continue
        # A pattern, a type's name or a comparison is not an argument.
        if after.startswith(("=>", "|", "::")) or re.search(r"\b(struct|type|trait|fn)\s+$", before):
            continue
        start = pos - len(path.group(0)) if path else pos
        found.append(Site(src, pos, word, (start, m.end())))
    seen = set()
    for s in found:
        if s.order in ORDERS and s.call != "value":
            s.failure = s.open in seen
            seen.add(s.open)
    return found
