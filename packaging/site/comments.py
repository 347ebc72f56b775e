"""Turns the comments of headers into Markdown, and links the names in them."""

import html
import re

TERM = re.compile(r" {2,}(\S+(?: \S+)*?)(?: {2,}(?=\S)| (?==)|$)(.*)")
# What is worth a line of its own in a comment about a function.
ERRORS = re.compile(r"(?<=[.;:)`] )(?=(?:Throws?|Else|Also throws|It throws|Constructors throw) )")
POWER = re.compile(r"\b(\d+)\^(\d+|\([^()]*\))")
WORD = re.compile(
    r"(?P<file>(?:paraes/)?\w+\.hpp\b|paraes\.h\b)"
    r"|(?P<page>docs/[\w/-]+\.md)"
    r"|(?P<glob>\w+_\*\w*(?:_\w+)*)"
    r"|(?P<name>~?[A-Za-z_]\w*(?:::~?\w+)*)(?P<call>\(\))?"
    r"|(?P<other>[\\*_<>\[\]&#|])"
)
HUMP = re.compile(r"[A-Z]\w*[a-z0-9]\w*[A-Z]")


def split_parameters(text, parameters):
    """What stands before the descriptions of parameters; and these: names, and what is said."""
    known = "|".join(map(re.escape, parameters))
    begin = re.compile(rf"(?:^|(?<=[.;:)] ))({known})((?:,? (?:and )?(?:{known}))*): ")
    marks = list(begin.finditer(text)) if parameters else []
    ends = [*(mark.start() for mark in marks), len(text)]
    said = []
    for mark, end in zip(marks, ends[1:], strict=True):
        names = re.sub(r"\b(?!and\b)\w+", r"`\g<0>`", mark[0].rstrip(": "))
        said.append((names, text[mark.end() : end].strip()))
    return text[: ends[0]].strip(), said


class Names:
    """Where each name of the reference is described: a page and an anchor."""

    def __init__(self):
        self.places = {}  # "Gcm::encrypt" to ("cpp/ciphers.md", "Gcm.encrypt")
        self.headers = {}  # "ciphers.hpp" to "cpp/ciphers.md"
        self.documents = {}  # "docs/formats.md" to its place in the site

    def add(self, name, page, anchor):
        self.places.setdefault(name, (page, anchor))


class Writer:
    """Writes Markdown for one page, and for one class of it at a time."""

    def __init__(self, names, page, relative):
        self.names = names
        self.page = page
        self.relative = relative  # from one page to another
        self.owner = ""
        self.own = ""  # the anchor of what is described, which needs no link
        self.parameters = ()

    # ---- Names

    def link(self, place, text):
        page, anchor = place
        if page == self.page and anchor == self.own:
            return text
        target = "" if page == self.page else self.relative(self.page, page)
        return f"[{text}]({target}#{anchor})"

    def find(self, name):
        name = name.removeprefix("paraes::").lstrip("~")
        owner = self.owner
        while owner:
            if f"{owner}::{name}" in self.names.places:
                return self.names.places[f"{owner}::{name}"]
            owner = owner.rpartition("::")[0]
        return self.names.places.get(name)

    def code(self, text):
        """A span of code, which is a link if it is a name."""
        name = re.fullmatch(r"([\w:]+)(\(\))?", text)
        place = self.find(name[1]) if name and name[1] not in self.parameters else None
        span = f"`{text}`"
        return self.link(place, span) if place else span

    def word(self, match, before):
        text = match[0]
        if match["file"]:
            page = self.names.headers.get(text.removeprefix("paraes/"))
            shown = f"`{text}`"
            return (
                f"[{shown}]({self.relative(self.page, page)})"
                if page and page != self.page
                else shown
            )
        if match["page"]:
            page = self.names.documents.get(text)
            return f"[{text}]({self.relative(self.page, page)})" if page else f"`{text}`"
        if match["glob"]:
            return f"`{text}`"
        if match["other"]:
            return "\\" + text if text not in "<>&" else html.escape(text)
        name = match["name"]
        if name in self.parameters:  # many are words: key, bytes, in
            return f"`{text}`" if "_" in name else text
        place = self.find(name)
        begins = not before.strip() or before.rstrip()[-1] in ".:"
        special = match["call"] or "::" in name or "_" in name or HUMP.match(name)
        if place and (special or (name[0].isupper() and not begins)):
            return self.link(place, f"`{text}`")
        if special and not name.isupper() and ("_" in name or "::" in name or match["call"]):
            return f"`{text}`"
        return text

    def inline(self, text):
        parts = re.split(r"(`[^`]+`)", text)
        made = []
        for part in parts:
            if part.startswith("`") and len(part) > 2:
                made.append(self.code(part[1:-1]))
                continue
            out, at = [], 0
            for match in WORD.finditer(part):
                out.append(part[at : match.start()])
                before = "".join(made)[-1:] + part[: match.start()]
                out.append(self.word(match, before))
                at = match.end()
            out.append(part[at:])
            made.append("".join(out))
        text = "".join(made)
        return POWER.sub(lambda power: f"{power[1]}<sup>{power[2].strip('()')}</sup>", text)

    # ---- Paragraphs

    def paragraph(self, text, parameters=()):
        """A paragraph; with parameters, what is said of each begins a new item."""
        errors = ERRORS.split(text)
        text, said = split_parameters(errors[0], parameters)
        items = (f"- {names}: {self.inline(about)}" for names, about in said)
        lines = [self.inline(text), "\n".join(items)]
        lines += [self.inline(part.strip()) for part in errors[1:]]
        return "\n\n".join(line for line in lines if line)

    def item(self, term):
        """A term, which begins a sentence or has a description behind it."""
        name, said = term[0], " ".join(term[1])
        mark = "" if re.match(r"(and|belong|is|are|stays?|a cipher) ", said) else ":"
        return f"- **{self.inline(name)}**{mark} {self.inline(said)}"

    def text(self, lines, parameters=()):
        """The comment as Markdown: paragraphs, and lists of terms that are indented."""
        self.parameters = set(parameters)
        blocks, paragraph, terms = [], [], []

        def flush():
            nonlocal paragraph, terms
            if paragraph:
                blocks.append(self.paragraph(" ".join(paragraph), parameters))
                paragraph = []
            if terms:
                blocks.append("\n".join(map(self.item, terms)))
                terms = []

        for line in lines:
            if not line.strip():
                flush()
                continue
            term = TERM.match(line)
            indent = len(line) - len(line.lstrip())
            if terms and indent > 4:
                terms[-1][1].append(line.strip())
            elif term and indent >= 2:
                if not terms:
                    flush()
                terms.append((term[1], [term[2].strip()] if term[2].strip() else []))
            else:
                if terms:
                    flush()
                paragraph.append(line.strip())
        flush()
        self.parameters = set()
        return "\n\n".join(blocks)
