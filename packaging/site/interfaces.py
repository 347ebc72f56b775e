"""The references of C++ and C: a page for each header, from its declarations and comments."""

import itertools
import re

from comments import Names, Writer
from declarations import Group, HeaderError, Section, laid_out, read_header

# What nobody calls: marks for compilers and for the systems that paraes is built for.
LEFT_OUT = {"export.hpp", "supported.hpp"}
KINDS = {
    "class": "class",
    "struct": "struct",
    "enum": "enum",
    "handle": "handle",
    "macro": "macro",
    "alias": "type",
    "variable": "constant",
}


class Header:
    def __init__(self, path, language, page):
        self.path = path
        self.name = path.name
        self.language = language
        self.page = page
        try:
            self.intro, self.items = read_header(path.read_text(encoding="utf-8"), language)
        except (HeaderError, ValueError, IndexError) as error:
            raise HeaderError(f"{path}: {error}") from None
        self.include = "paraes.h" if language == "c" else f"paraes/{path.name}"

    @property
    def summary(self):
        """The first sentence of its comment."""
        text = []
        for line in self.intro:
            if not line.strip():
                break
            text.append(line.strip())
        return re.split(r"(?<=[a-z)]\.) |: $", " ".join(text))[0].rstrip(":")


def anchor_of(owner, name):
    return f"{owner}::{name}".lstrip(":").replace("::", ".")


def shown_name(declaration):
    return declaration.name + ("()" if declaration.kind == "function" else "")


def member_kind(item, owner):
    """ "variable" or "value", which a class lists together; "" for anything else."""
    kind = item.declarations[0].kind if owner and isinstance(item, Group) else ""
    return kind if kind in ("variable", "value") else ""


def walk(items, owner=""):
    """Every declaration, with the class that it is in."""
    for item in items:
        if isinstance(item, Section):
            continue
        for declaration in item.declarations:
            yield owner, declaration, item
            if declaration.kind in ("class", "struct", "enum"):
                inside = f"{owner}::{declaration.name}".lstrip(":")
                yield from walk(declaration.members, inside)


class Page:
    def __init__(self, header, names, relative):
        self.header = header
        self.writer = Writer(names, header.page, relative)
        self.names = names
        self.lines = []
        self.used = {}
        self.top = 2

    def put(self, *blocks):
        self.lines += [block + "\n" for block in blocks if block]

    def heading(self, level, title, anchor):
        count = self.used.get(anchor, 0)
        self.used[anchor] = count + 1
        if count:
            anchor += f"-{count + 1}"
        self.put(f"{'#' * min(level, 6)} {title} {{#{anchor}}}")
        self.writer.own = anchor

    def signature(self, *texts):
        language = "c" if self.header.language == "c" else "cpp"
        self.put(f"```{language}\n" + "\n".join(texts) + "\n```")

    # ---- Groups

    def write(self):
        header = self.header
        self.put(f"# {header.name}", f"`#include <{header.include}>`")
        self.put(self.writer.text(header.intro))
        if any(isinstance(item, Section) and item.title for item in header.items):
            self.top = 3
        self.write_items(header.items, "", self.top)
        return "\n".join(self.lines)

    def write_items(self, items, owner, level):
        for kind, run in itertools.groupby(items, lambda item: member_kind(item, owner)):
            self.writer.owner = owner
            if kind:
                self.write_members(list(run), owner)
                continue
            for item in run:
                self.write_item(item, owner, level)

    def write_item(self, item, owner, level):
        self.writer.owner = owner
        if isinstance(item, Section):
            if item.title:
                slug = re.sub(r"\W+", "-", item.title.lower()).strip("-")
                self.heading(level - 1, self.writer.inline(item.title), slug)
            self.writer.own = ""
            self.put(self.writer.text(item.text))
            return
        first = item.declarations[0]
        if first.kind in ("class", "struct", "enum"):
            self.write_type(item, first, owner, level)
        elif all(found.overrides and not item.comment for found in item.declarations):
            self.write_overrides(item, owner)
        else:
            own, rest = apart(item)
            self.write_group(own, owner, level)
            for other in rest:
                if other.declarations[0].overrides:
                    self.write_overrides(other, owner)
                else:
                    self.write_group(other, owner, level)

    def write_group(self, item, owner, level):
        found = item.declarations
        distinct = {each.name: each for each in found}
        names = list(distinct)
        title = ", ".join(f"`{shown_name(each)}`" for each in distinct.values())
        anchor = anchor_of(owner, names[0])
        if self.used.get(anchor):  # an overload: name what tells them apart
            given = found[0].parameters
            inside = ", ".join(given[:2]) + (", …" if len(given) > 2 else "")
            title = ", ".join(f"`{name}({inside})`" for name in names)
        self.heading(level, title, anchor)
        for name in names[1:]:
            self.anchor(anchor_of(owner, name))
        self.signature(*(laid_out(each.text) for each in found))
        parameters = [name for each in found for name in each.parameters]
        parameters = list(dict.fromkeys(parameters))
        self.put(self.writer.text(item.comment, parameters))
        self.write_trailing(found, parameters)
        if names == [names[0]] and names[0].endswith("_free") and not item.comment:
            self.put("Frees the handle; NULL is allowed.")

    def anchor(self, anchor):
        if anchor not in self.used:
            self.used[anchor] = 1
            self.lines.append(f'<a id="{anchor}"></a>\n')

    def write_trailing(self, found, parameters):
        said = [each for each in found if each.trailing]
        if len(found) == 1 and said:
            text = self.writer.text(said[0].trailing, parameters)
            self.put(sentence(text))
        elif said:
            self.writer.parameters = set(parameters)
            self.put(
                "\n".join(
                    f"- `{shown_name(each)}`: {self.writer.inline(' '.join(each.trailing))}"
                    for each in said
                )
            )
            self.writer.parameters = set()

    def write_type(self, item, found, owner, level):
        name = f"{owner}::{found.name}".lstrip(":")
        self.heading(level, f"{KINDS[found.kind]} `{name}`", anchor_of(owner, found.name))
        if found.text != f"{KINDS[found.kind]} {found.name}":
            self.signature(found.text + ";")
        self.put(self.writer.text(item.comment))
        self.put(sentence(self.writer.text(found.trailing)))
        self.put(traits_of(found))
        self.write_items(found.members, name, level + 1)
        self.writer.owner = owner

    def write_members(self, groups, owner):
        """Members of a structure, or values of an enumeration: a list of definitions."""
        plain = all(not group.comment and not group.declarations[0].trailing for group in groups)
        if plain and groups[0].declarations[0].kind == "value":
            spans = []
            for group in groups:
                found = group.declarations[0]
                spans.append(f'<a id="{anchor_of(owner, found.name)}"></a>`{found.text}`')
            self.put(", ".join(spans))
            return
        lines = []
        for group in groups:
            found = group.declarations[0]
            anchor = anchor_of(owner, found.name)
            self.writer.own = anchor
            self.used[anchor] = 1
            said = [self.writer.text(group.comment), self.writer.text(found.trailing)]
            if (
                self.header.language == "c"
                and owner.startswith("paraes_")
                and found.kind == "value"
            ):
                anchor = found.name
            said = sentence("\n\n".join(text for text in said if text)) or "\u2002"
            said = said.replace("\n", "\n    ")
            lines.append(f'<a id="{anchor}"></a>`{found.text}`\n:   {said}\n')
        self.put("\n".join(lines))

    def write_overrides(self, item, owner):
        spans = []
        for each in item.declarations:
            self.used.setdefault(anchor_of(owner, each.name), 1)
            base = self.base_of(owner, each.name)
            span = f"`{shown_name(each)}`"
            if base:
                span = self.writer.link(base, span)
            spans.append(f'<a id="{anchor_of(owner, each.name)}"></a>{span}')
        self.put("Overrides " + ", ".join(spans) + ".")

    def base_of(self, owner, name):
        for base in ("Source", "PositionalSource", "Sink", "PositionalSink"):
            if base != owner and f"{base}::{name}" in self.names.places:
                return self.names.places[f"{base}::{name}"]
        return None


def apart(item):
    """The declarations that the comment of the first one describes, and others in groups of their
    own: what a base class describes, and, in C, what frees a handle."""
    own, rest = [], []
    makes = item.declarations[0].kind == "handle"
    for found in item.declarations:
        other = found.overrides or (found.name.endswith("_free") and not makes)
        if other and own:
            rest.append(Group([], [found]))
        else:
            own.append(found)
    overriding = [each.declarations[0] for each in rest if each.declarations[0].overrides]
    rest = [each for each in rest if not each.declarations[0].overrides]
    if overriding:
        rest.append(Group([], overriding))
    return Group(item.comment, own), rest


def sentence(text):
    """Begins with a capital letter and ends with a full stop."""
    if not text:
        return ""
    if text[0].islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", ":", "-", ")", "`")) and text[-1] != ")" else text + "."


def traits_of(found):
    said = []
    traits = found.traits
    if "copied not" in traits and "moved" not in traits:
        said.append("It can be neither copied nor moved.")
    elif "copied not" in traits or "moved" in traits and "copied" not in traits:
        said.append("It can be moved, but not copied.")
    base = [trait for trait in traits if trait.startswith("constructors of ")]
    if base and "std" not in base[0]:
        said.append(f"It has the constructors of `{base[0].split()[-1]}`.")
    return " ".join(said)


# ---- What every header must have


def undocumented(header):
    """The declarations that no comment describes."""
    found = []
    if not header.intro:
        found.append(f"{header.name}: no comment says what it is for")
    for owner, declaration, item in walk(header.items):
        described = item.comment or declaration.trailing or declaration.overrides
        name = f"{owner}::{declaration.name}".lstrip(":")
        if declaration.kind in ("class", "struct"):
            if not described and not any(
                each.trailing or isinstance(group, Group) and group.comment
                for group in declaration.members
                for each in getattr(group, "declarations", [])
            ):
                found.append(f"{header.name}: {name}")
        elif (
            declaration.kind == "function"
            and not described
            and not declaration.name.startswith(("operator", "paraes_version"))
            and declaration.name != owner.rpartition("::")[2]
        ):
            found.append(f"{header.name}: {name}()")
    return found


def collect(headers):
    """The names of all headers, for links between them."""
    names = Names()
    for header in headers:
        names.headers[header.name] = header.page
        for owner, declaration, _ in walk(header.items):
            name = f"{owner}::{declaration.name}".lstrip(":")
            anchor = anchor_of(owner, declaration.name)
            if header.language == "c" and declaration.kind == "value":
                name = anchor = declaration.name
            names.add(name, header.page, anchor)
    return names


def private_names(headers):
    return {
        f"{owner}::{declaration.name}".lstrip(":") + f"::{hidden}"
        for header in headers
        for owner, declaration, _ in walk(header.items)
        for hidden in declaration.hidden
    }


def is_unseen(headers, name):
    """Whether the reference leaves out an exported name: that of a class which a header hides."""
    owner, _, _ = name.rpartition(".")
    classes = {
        f"{inside}::{found.name}".lstrip(":").replace("::", ".")
        for header in headers
        for inside, found, _ in walk(header.items)
        if found.kind in ("class", "struct")
    }
    return bool(owner) and owner not in classes
