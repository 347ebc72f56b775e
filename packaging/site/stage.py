"""Copies the documents to where MkDocs reads them, with links that stay in the site."""

import importlib.machinery
import importlib.util
import os
import pathlib
import posixpath
import re
import subprocess

TREE = pathlib.Path(__file__).resolve().parents[2]
# What the links of documents must look like: the same rules as in the test of the sources.
_loader = importlib.machinery.SourceFileLoader("links", str(TREE / "tests/docs/links"))
links = importlib.util.module_from_spec(importlib.util.spec_from_loader("links", _loader))
_loader.exec_module(links)

INDEX = "docs/README.md"
TARGET = re.compile(
    r"(\]\(\s*)(<[^>]*>|[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)((?:\s+\"[^\"]*\")?\s*\))"
)
DEFINED = re.compile(r"^( {0,3}\[[^]]+\]:\s+)(\S+)()")
ATTRIBUTE = re.compile(r"(<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\")([^\"]*)(\")")
ITEM = re.compile(r"( *)([-*+]|\d+[.)])( +)(?=\S)")
PICTURES = {".svg", ".png", ".jpg", ".webp"}
LANGUAGES = {
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".cu": "cpp",
    ".c": "c",
    ".h": "c",
    ".py": "python",
    ".rs": "rust",
    ".go": "go",
    ".f90": "fortran",
    ".cl": "c",
    ".txt": "text",
}


class StageError(Exception):
    pass


def is_page(path):
    return path.suffix == ".md"


def place_of(path):
    """Where a document of the source tree is in the site."""
    name = path.as_posix()
    if name == "README.md":
        return "index.md"
    if name == INDEX:
        return "documents.md"
    return name.removeprefix("docs/")


class Stage:
    def __init__(self, tree, output, generated):
        self.tree = tree
        self.output = output
        self.generated = generated  # "include/paraes/io.hpp" to its page
        self.pages = {}  # path in the tree to the place in the site
        self.waiting = []  # pages that are to be written

    # ---- Places

    def page(self, path):
        """The place of a page; it will be written."""
        if path not in self.pages:
            self.pages[path] = place_of(path)
            self.waiting.append(path)
        return self.pages[path]

    def target(self, path, why):
        """The place of what a link leads to."""
        name = path.as_posix()
        if name in self.generated:
            return self.generated[name]
        full = self.tree / path
        if path.is_absolute() or ".." in path.parts:
            raise StageError(f"{why}: {name} is not in the sources")
        if full.is_dir():
            readme = path / "README.md"
            return self.page(readme) if (self.tree / readme).is_file() else self.listing(path)
        if not full.is_file():
            raise StageError(f"{why}: {name} does not exist")
        if is_page(path):
            return self.page(path)
        if path.suffix in PICTURES or path.suffix == ".json":
            return self.copy(path)
        return self.source(path)

    def copy(self, path):
        name = path.as_posix()
        place = name.removeprefix("docs/") if path.suffix in PICTURES else f"files/{name}"
        out = self.output / place
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes((self.tree / path).read_bytes())
        return place

    def source(self, path):
        """A page that shows a file of the sources."""
        place = f"files/{path.as_posix()}.md"
        out = self.output / place
        if not out.exists():
            try:
                text = (self.tree / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                raise StageError(f"{path.as_posix()} is not text") from None
            language = LANGUAGES.get(
                path.suffix,
                "python"
                if text.startswith("#!/usr/bin/env python3")
                else "bash"
                if text.startswith("#!")
                else "text",
            )
            fence = "`" * 4
            self.write(
                place,
                f"# {path.as_posix()}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n",
                searched=False,
            )
        return place

    def listing(self, folder):
        """A page with the files of a folder that has no page of its own."""
        place = (
            f"{place_of(folder)}/index.md" if self.in_docs(folder) else f"files/{folder}/index.md"
        )
        if not (self.output / place).exists():
            self.write(place, "", searched=False)  # a folder may contain what leads back to it
            shown = folder.name.capitalize() if self.in_docs(folder) else folder.as_posix()
            lines = [f"# {shown}", ""]
            for path in self.files_in(folder):
                if (
                    path.is_file()
                    and "target" not in path.parts
                    and path.suffix not in (".lock", ".mod")
                ):
                    inner = path.relative_to(self.tree)
                    name = path.relative_to(self.tree / folder).as_posix()
                    there = self.relative(place, self.target(inner, folder))
                    lines.append(f"- [`{name}`]({there})")
            self.write(place, "\n".join(lines) + "\n", searched=False)
        return place

    def files_in(self, folder):
        """The files below a folder, without those that git ignores: results of examples."""
        command = ["git", "-C", self.tree, "ls-files", "-z", "--cached", "--others"]
        listed = subprocess.run(
            [*command, "--exclude-standard", "--", folder.as_posix()], capture_output=True
        )
        if listed.returncode == 0 and listed.stdout:
            return sorted(self.tree / os.fsdecode(name) for name in listed.stdout.split(b"\0")[:-1])
        return sorted((self.tree / folder).rglob("*"))  # an archive of the sources

    @staticmethod
    def in_docs(folder):
        return folder.parts[:1] == ("docs",)

    @staticmethod
    def relative(page, place):
        return posixpath.relpath(place, posixpath.dirname(page) or ".")

    # ---- Text

    def write(self, place, text, searched=True):
        out = self.output / place
        out.parent.mkdir(parents=True, exist_ok=True)
        head = "" if searched else "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"
        out.write_text(head + text, encoding="utf-8")

    def write_pages(self):
        while self.waiting:
            path = self.waiting.pop()
            text = (self.tree / path).read_text(encoding="utf-8")
            self.write(self.pages[path], self.converted(path, text))

    def converted(self, path, text):
        seen, lines = {}, []
        plain = links.without_code(text)
        for line, prose in zip(text.splitlines(), plain, strict=True):
            if line and not prose:  # in a block of code
                lines.append(line)
                continue
            line = self.with_links(path, line)
            if links.HEADING.match(line):
                # The anchors of GitHub, which the links of the documents have.
                anchor = links.anchor_of(links.HEADING.match(prose)[1])
                count = seen.get(anchor, 0)
                seen[anchor] = count + 1
                line = f"{line.rstrip(' #')} {{#{anchor}{f'-{count}' if count else ''}}}"
            elif line.startswith("|"):
                # GitHub wants a bar escaped in code, too, and shows no backslash.
                line = links.CODE.sub(lambda code: code[0].replace("\\|", "|"), line)
            lines.append(line)
        return "\n".join(with_lists(lines, plain)) + "\n"

    def with_links(self, path, line):
        spans = []

        def hide(code):
            spans.append(code[0])
            return f"\0{len(spans) - 1}\0"

        line = links.CODE.sub(hide, line)
        for pattern in (TARGET, DEFINED, ATTRIBUTE):
            line = pattern.sub(
                lambda found: found[1] + self.resolved(path, found[2]) + found[3], line
            )
        return re.sub("\0(\\d+)\0", lambda number: spans[int(number[1])], line)

    def resolved(self, path, target):
        target = target.strip("<>")
        name, mark, anchor = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or not name:
            return target
        there = pathlib.PurePosixPath(posixpath.normpath((path.parent / name).as_posix()))
        place = self.target(there, path.as_posix())
        # The lines of a source file have no anchors.
        if re.fullmatch(r"L\d+(-L\d+)?", anchor):
            mark = anchor = ""
        return self.relative(self.pages[path], place) + mark + anchor


def with_lists(lines, plain):
    """Lists as Python-Markdown wants them: four spaces for each level, and an empty line before."""
    made, levels = [], []
    for line, prose in zip(lines, plain, strict=True):
        in_code = bool(line) and not prose
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            made.append("")
            continue
        item = None if in_code else ITEM.match(line)
        while levels and indent < levels[-1]:
            levels.pop()
        level = len(levels)
        beyond = 4 * level + indent - levels[-1] if levels else indent
        shown = " " * beyond + line.lstrip(" ")
        if item:
            before = made[-1] if made else ""
            margin = len(before) - len(before.lstrip(" "))
            if before.strip() and not ITEM.match(before) and margin == 4 * level:
                made.append("")
            levels.append(len(item[0]))
        made.append(shown)
    return made


# ---- Navigation


def navigation(stage):
    """The sections of the index of the documents, each with its pages: title to list."""
    text = (stage.tree / INDEX).read_text(encoding="utf-8")
    listed, wrong = [], []
    section = None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif section is not None and line.startswith("- "):
            # Behind the colon, links are part of the description.
            line = line.partition("): ")[0] + ")"
            for shown, target in re.findall(r"\[([^]]+)\]\(([^)#\s]+)\)", line):
                path = pathlib.PurePosixPath(posixpath.normpath(f"docs/{target}"))
                if (stage.tree / path).exists():
                    listed.append((section, path, shown))
                else:
                    wrong.append(f"{INDEX}: {target} does not exist")
    if wrong:
        raise StageError("\n".join(wrong))
    known = {path for _, path, _ in listed}
    sections = {}
    for section, path, shown in listed:
        sections.setdefault(section, []).append(entry(stage, path, shown, known))
    return sections


def entry(stage, path, shown, known):
    """A page, or a folder with those of its pages that are not listed by themselves."""
    folder = path.parent if path.name == "README.md" else path
    first = stage.target(folder, INDEX)
    others = []
    for item in sorted((stage.tree / folder).glob("*.md")):  # none for a page
        inside = pathlib.PurePosixPath(item.relative_to(stage.tree).as_posix())
        if inside.name != "README.md" and inside not in known:
            others.append(stage.page(inside))
    return {shown: [first, *others] if others else first}


def places_in(sections):
    for item in sections:
        if isinstance(item, str):
            yield item
        else:
            for value in item.values():
                yield from places_in(value) if isinstance(value, list) else [value]


def missing(stage, sections):
    """Pages below docs/ that the navigation lacks."""
    reached = set(places_in([{title: pages} for title, pages in sections.items()]))
    found = []
    for folder, _, files in os.walk(stage.tree / "docs"):
        for name in sorted(files):
            path = pathlib.Path(folder, name).relative_to(stage.tree)
            if (
                is_page(path)
                and path.as_posix() != INDEX
                and place_of(path) not in reached
            ):
                found.append(f"{INDEX}: no link leads to {path.as_posix()}")
    return found
