"""An extension of griffe: makes Markdown with links of the docstrings, which are plain English."""

import re

import griffe
from comments import split_parameters

FENCED = re.compile(r"^( {4,}|```|::$)")
WORD = re.compile(r"`[^`]+`|\bdocs/[\w/-]+\.md\b|\b[A-Za-z_][\w.]*\w(?:\(\))?")


class PlainDocstrings(griffe.Extension):
    def __init__(self):
        self.known = {}

    def on_package(self, *, pkg, **_):
        from python_pages import MODULES

        for module in MODULES:
            inner = module.removeprefix("paraes").strip(".")
            found = pkg[inner] if inner else pkg
            for name in found.exports or ():
                name = str(getattr(name, "name", name))
                # Where several modules have a name, the first one has its description.
                self.known.setdefault(name, f"{module}.{name}")
                self.known.setdefault(f"{module}.{name}", f"{module}.{name}")
            if inner:
                self.known[module] = module
        for name in pkg["files"].members:
            if not name.startswith("_") and name.endswith(("Options", "Secret", "Where")):
                self.known.setdefault(name, f"paraes.files.{name}")
        self.walk(pkg, set())

    def walk(self, found, seen):
        if found.is_alias or found.path in seen:
            return
        seen.add(found.path)
        if found.is_attribute and not found.docstring and (said := self.said_behind(found)):
            found.docstring = griffe.Docstring(said[0].upper() + said[1:] + ".", parent=found)
        if found.docstring:
            found.docstring.value = self.markdown(found.docstring.value, found)
        for member in found.members.values():
            if member.name.startswith("__") and not member.is_alias:
                member.public = member.name == "__version__"
            self.walk(member, seen)
        if found.is_class and found.bases:
            self.name_implemented(found)

    @staticmethod
    def name_implemented(found):
        """Members that only do what a base class says are named, and not described."""
        names = []
        for name, member in found.members.items():
            if not name.startswith("_") and member.is_function and not member.docstring:
                member.public = False
                names.append(f"`{name}()`")
        if names and found.docstring:
            found.docstring.value += f"\n\nAs its base class describes them: {', '.join(names)}."

    @staticmethod
    def said_behind(found):
        """The comment on the line of an attribute, such as an option of a TypedDict."""
        if not found.lineno or found.lineno != found.endlineno:
            return ""
        line = found.lines_collection[found.filepath][found.lineno - 1]
        return (
            line.partition("  # ")[2].strip()
            if "# noqa" not in line and "type:" not in line
            else ""
        )

    def parameters(self, found):
        if found.is_class:
            found = found.members.get("__init__")
        if found is None or found.is_alias or not found.is_function:
            return []
        return [parameter.name for parameter in found.parameters if parameter.name != "self"]

    def markdown(self, text, found):
        parameters = self.parameters(found)
        blocks = []
        for block in re.split(r"\n\s*\n", text):
            if any(FENCED.match(line) for line in block.splitlines()):
                blocks.append("" if block.strip() == "::" else block)
            elif block.startswith("- "):
                blocks.append(self.linked(block, found, parameters))
            else:
                blocks.append(self.listed(" ".join(block.split()), found, parameters))
        return "\n\n".join(blocks)

    def listed(self, text, found, parameters):
        """A paragraph; what it says of each parameter is an item of a list."""
        text, said = split_parameters(text, parameters)
        lines = [self.linked(text, found, parameters), ""]
        lines += [f"- {names}: {self.linked(about, found, parameters)}" for names, about in said]
        return "\n".join(lines).strip("\n")

    def linked(self, text, found, parameters):
        own = found.name

        def replace(word):
            if word[0].startswith("docs/"):
                page = word[0].removeprefix("docs/").removesuffix(".md")
                return f"[{word[0]}](../../{page}.html)"
            text = word[0].strip("`")
            name = text.removesuffix("()")
            special = (
                text.endswith("()")
                or "." in name
                or re.search(r"[A-Z].*[A-Z]", name)
                or ("_" in name.strip("_"))
            )
            place = self.known.get(name)
            quoted = word[0].startswith("`")
            if place and name != own and name not in parameters and (special or quoted):
                return f"[`{text}`][{place}]"
            if (
                quoted
                or name in parameters
                and "_" in name
                or special
                and ("_" in name or text.endswith("()"))
            ):
                return f"`{text}`"
            return word[0].replace("_", "\\_")

        return WORD.sub(replace, text)
