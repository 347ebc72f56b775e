"""Reads the declarations of a C++ or C header, and the comments that belong to them.

It knows the style of include/ and no more: code that clang-format has formatted, comments in front
of declarations or behind them on the same line. Declarations that follow each other without a blank
line or a comment share the comment of the first one.
"""

import dataclasses
import re

WORD = re.compile(r"\w+")
BLANK = re.compile(r"[ \t]*\n[ \t]*\n")
RULER = re.compile(r"-{4} ?(.*?)(?: -{4})?$")
MARKS = re.compile(r"\b(PARAES_EXPORT|PARAES_HIDDEN|PARAES_API|PARAES_CHECKED)\b ?")
# What the reader of a signature does not need.
NOISE = re.compile(
    r"\b(virtual|inline|constexpr(?= (?!std|unsigned|bool|int))) |\[\[nodiscard\]\] |"
    r"\[\[gnu::always_inline\]\] "
)
HIDDEN_NAMESPACES = ("detail", "calls")


@dataclasses.dataclass
class Declaration:
    kind: str  # class, struct, enum, function, variable, alias, macro, value, handle
    name: str
    text: str  # without a body
    comment: list = dataclasses.field(default_factory=list)  # lines, in front of it
    trailing: list = dataclasses.field(default_factory=list)  # lines, behind it
    members: list = dataclasses.field(default_factory=list)  # groups, sections and texts
    hidden: set = dataclasses.field(default_factory=set)  # names of what is private
    traits: set = dataclasses.field(default_factory=set)  # of a class: copied, moved, deleted
    overrides: bool = False
    parameters: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Group:
    """Declarations that share a comment."""

    comment: list
    declarations: list


@dataclasses.dataclass
class Section:
    title: str
    text: list


class HeaderError(Exception):
    pass


def skip_unread(text, at):
    """The position behind the comment or the quoted text that begins at `at`, or else `at`."""
    if text.startswith("//", at):
        return text.index("\n", at)
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    return skip_quoted(text, at) if text[at] in "\"'" else at


def skip_balanced(text, at):
    """The position behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        behind = skip_unread(text, at)
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at = max(behind, at + 1)
    raise HeaderError("a bracket is not closed")


def skip_quoted(text, at):
    end = at + 1
    if text[at] == "'" and at > 0 and text[at - 1].isalnum():
        return end  # the separator of a number
    while text[end] != text[at]:
        end += 2 if text[end] == "\\" else 1
    return end + 1


def split_top(text, separator=","):
    """Splits at separators outside of all brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1] != "-"):
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def parameters_of(text):
    """The names of a function's parameters."""
    begin = open_parenthesis(text)
    if begin is None:
        return []
    names = []
    for part in split_top(text[begin + 1 : skip_balanced(text, begin) - 1]):
        words = WORD.findall(part.partition("=")[0])
        if len(words) > 1:
            names.append(words[-1])
    return names


def open_parenthesis(text):
    """Where the parameters of a function begin; None if it is no function."""
    at = 0
    while at < len(text):
        if text[at] == "(":
            return at
        if text.startswith("[[", at):
            at = skip_balanced(text, at)
            continue
        if text.startswith("operator", at):
            at = text.index("(", at + 9)
            continue
        if text[at] == "=" or text[at] == "{":
            return None
        if text[at] == "<":  # of a template: std::function<void(int)>
            depth = 1
            while depth:
                at += 1
                depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    return None


def tidy(text):
    """The declaration in one line, without what is for compilers."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    text = " ".join(MARKS.sub("", text).split())
    text = NOISE.sub("", text)
    return re.sub(r" ?\(void\)", "()", text).replace("( ", "(").strip()


def laid_out(text, width=76):
    """A declaration in several lines if it is long: a parameter in each."""
    text = text if text.endswith((";", "}")) else text + ";"
    begin = open_parenthesis(text)
    if len(text) <= width or begin is None:
        return text
    end = skip_balanced(text, begin)
    parameters = split_top(text[begin + 1 : end - 1])
    head, tail = text[: begin + 1], text[end - 1 :]
    joined = ", ".join(parameters)
    if len(joined) + 4 + len(tail) <= width:
        return f"{head}\n    {joined}{tail}"
    return head + "\n    " + ",\n    ".join(parameters) + tail


class Reader:
    def __init__(self, text, language):
        self.text = text
        self.at = 0
        self.language = language

    # ---- Comments

    def column(self, at):
        return at - (self.text.rfind("\n", 0, at) + 1)

    def read_comment(self):
        """The lines of the comment here, and the column where it begins."""
        column = self.column(self.at)
        if self.text.startswith("/*", self.at):
            end = self.text.index("*/", self.at)
            lines = [
                re.sub(r"^\s*\*( |$)", "", line) if number else line
                for number, line in enumerate(self.text[self.at + 2 : end].split("\n"))
            ]
            self.at = end + 2
            lines[0] = lines[0].removeprefix(" ")
            return [line.rstrip() for line in lines], column
        lines = []
        while self.text.startswith("//", self.at) and (not lines or self.column(self.at) == column):
            end = self.text.index("\n", self.at)
            lines.append(self.text[self.at + 2 : end].removeprefix(" ").rstrip())
            after = re.compile(r"\n[ \t]*(?=//)").match(self.text, end)
            self.at = after.end() if after else end
            if not after:
                break
        return lines, column

    def read_trailing(self):
        """The comment behind what ends here, if there is one."""
        ahead = re.compile(r"[ \t]*(?=//|/\*)").match(self.text, self.at)
        if not ahead:
            return []
        self.at = ahead.end()
        return self.read_comment()[0]

    # ---- Scopes

    def read_scope(self, owner=None):
        """The items up to the brace that closes the scope, or to the end."""
        items = []
        comment, group = [], None
        shown = owner is None or owner.kind == "struct"

        def flush():
            nonlocal comment
            if comment and shown and not comment[0].startswith("namespace "):
                title = RULER.match(comment[0])
                items.append(
                    Section(title[1].rstrip(" -"), comment[1:]) if title else Section("", comment)
                )
            comment = []

        while True:
            blank = BLANK.match(self.text, self.at)
            if blank:
                flush()
                group = None
                self.at = blank.end()
                continue
            if self.at >= len(self.text):
                flush()
                return items
            character = self.text[self.at]
            if character.isspace() or character == ";":
                self.at += 1
            elif self.text.startswith(("//", "/*"), self.at):
                if comment and RULER.match(comment[0]):
                    flush()
                comment = (comment + [""] if comment else []) + self.read_comment()[0]
                group = None
            elif character == "#":
                macro = self.read_preprocessor()
                if macro and shown and self.language == "c":
                    macro.comment, comment = comment, []
                    items.append(Group(macro.comment, [macro]))
                group = None
            elif character == "}":
                flush()
                self.at += 1
                return items
            elif label := re.compile(r"(public|protected|private):").match(self.text, self.at):
                flush()
                shown = label[1] == "public"
                self.at = label.end()
                group = None
            else:
                found = self.read_declaration(owner)
                if isinstance(found, list):  # of a namespace
                    items += found
                    comment, group = [], None
                    continue
                if found is None:
                    comment = []
                    continue
                if not shown:
                    owner.hidden.add(found.name)
                    comment = []
                    continue
                found.comment, comment = comment, []
                if group is None or found.comment or found.kind not in ("function", "handle"):
                    group = Group(found.comment, [])
                    items.append(group)
                group.declarations.append(found)
                if found.kind not in ("function", "handle"):
                    group = None

    def read_preprocessor(self):
        end = self.at
        while True:
            end = self.text.find("\n", end)
            if self.text[end - 1] != "\\":
                break
            end += 1
        line = self.text[self.at : end]
        self.at = end
        macro = re.match(r"#define (PARAES_(?!H\b|API\b|CHECKED\b)\w+)", line)
        return Declaration("macro", macro[1], f"#define {macro[1]}") if macro else None

    # ---- Declarations

    def scan(self, at):
        """The position of the next ; or { outside of parentheses, with templates' arguments."""
        while self.text[at] not in ";{":
            if self.text[at] in "([":
                at = skip_balanced(self.text, at)
            else:
                at = max(skip_unread(self.text, at), at + 1)
        return at

    def read_declaration(self, owner):
        start = self.at
        end = self.scan(start)
        head = self.text[start:end]
        plain = tidy(head)
        if self.text[end] == "{":
            if plain.startswith(("namespace", 'extern "C"')):
                name = plain.removeprefix("namespace").strip()
                if plain.startswith("namespace") and name.split("::")[-1] in (
                    *HIDDEN_NAMESPACES,
                    "",
                ):
                    self.at = skip_balanced(self.text, end)
                    return None
                self.at = end + 1
                return self.read_scope()
            kind = re.match(r"(?:typedef )?(class|struct|enum(?: class)?)\b", plain)
            if kind and "(" not in plain:
                return self.read_type(plain, end, kind[1].split()[0])
            if open_parenthesis(plain) is None:  # an initialiser
                end = self.scan_initialised(end)
                text = tidy(self.text[start:end])
                self.at = end + 1
                return self.finish(text, owner)
            # A function with a body, perhaps behind the initialisers of a constructor.
            text = self.without_initialisers(plain)
            if text != plain:
                end = self.skip_initialisers(start)
            self.at = skip_balanced(self.text, end)
            return self.finish(text, owner)
        self.at = end + 1
        return self.finish(plain, owner)

    def scan_initialised(self, end):
        while self.text[end] != ";":
            end = skip_balanced(self.text, end) if self.text[end] in "{([" else end + 1
        return end

    @staticmethod
    def without_initialisers(plain):
        end = skip_balanced(plain, open_parenthesis(plain))
        rest = re.match(r"( (?:const|noexcept|final))*", plain[end:])
        tail = plain[end + rest.end() :]
        return plain[: end + rest.end()] if re.match(r"\s*:(?!:)", tail) else plain

    def skip_initialisers(self, start):
        """The brace that begins the body of a constructor."""
        at = skip_balanced(self.text, self.text.index("(", start))
        at = self.text.index(":", at) + 1
        while True:
            while self.text[at] not in "({":
                at += 1
            at = skip_balanced(self.text, at)
            rest = re.compile(r"\s*").match(self.text, at).end()
            if self.text[rest] == "{":
                return rest
            at = rest

    def read_type(self, plain, brace, kind):
        name = re.match(r"(?:typedef )?(?:class|struct|enum(?: class)?) (\w+)", plain)
        made = Declaration(kind, name[1] if name else "", plain.removeprefix("typedef "))
        self.at = brace + 1
        if kind == "enum":
            self.read_values(made)
        else:
            made.members = self.read_scope(made)
        end = self.text.index(";", self.at)
        alias = self.text[self.at : end].strip()
        if alias:
            made.name = alias
        self.at = end + 1
        made.trailing = self.read_trailing()
        return made

    def read_values(self, made):
        comment = []
        while True:
            if self.text[self.at].isspace() or self.text[self.at] == ",":
                self.at += 1
            elif self.text.startswith(("//", "/*"), self.at):
                comment = self.read_comment()[0]
            elif self.text[self.at] == "}":
                self.at += 1
                return
            else:
                value = re.compile(r"(\w+)[^,}/]*").match(self.text, self.at)
                found = Declaration("value", value[1], tidy(value[0]), comment)
                comment = []
                self.at = value.end()
                if self.text[self.at] == ",":
                    self.at += 1
                found.trailing = self.read_trailing()
                made.members.append(Group(found.comment, [found]))

    def finish(self, text, owner):
        """A declaration without members; None for what a reference does not show."""
        trailing = self.read_trailing()
        unshown = ("friend ", "static_assert", "class PARAES_HIDDEN")
        if text.startswith(unshown) or re.fullmatch(r"(class|struct) \w+", text):
            return None
        if handle := re.fullmatch(r"typedef struct (\w+) \1", text):
            return Declaration("handle", handle[1], text, trailing=trailing)
        if using := re.fullmatch(r"using ([\w:]+)", text):  # constructors of the base class
            if owner:
                owner.traits.add(f"constructors of {using[1].split('::')[0]}")
            return None
        if alias := re.match(r"using (\w+) =|typedef .*?(\w+)$", text):
            return Declaration("alias", alias[1] or alias[2], text, trailing=trailing)
        begin = open_parenthesis(text)
        if begin is None or re.search(r"\(\*\w+\)\(", text):
            start = re.split(r"[={]", text, maxsplit=1)[0]
            variable = re.search(r"\(\*(\w+)\)", text) or re.search(
                r"(\w+)\s*(?:\[[^]]*\]\s*)*$", start
            )
            if not variable:
                raise HeaderError(f"not understood: {text}")
            return Declaration("variable", variable[1], text, trailing=trailing)
        return self.finish_function(text, begin, owner, trailing)

    def finish_function(self, text, begin, owner, trailing):
        name = re.search(r"(operator\W+|~?\w+)$", text[:begin])[1].strip()
        if owner and (name.lstrip("~") == owner.name or name == "operator="):
            inside = text[begin + 1 : skip_balanced(text, begin) - 1]
            own = re.match(rf"(const )?{owner.name}(&&|&)", inside)
            if name.startswith("~"):
                return None
            if own:
                moves = own[2] == "&&"
                owner.traits.add(
                    ("moved" if moves else "copied") + (" not" if "delete" in text else "")
                )
                return None
        if owner and re.search(r"\bconst End>|\bPending>|Impl>", text):
            return None  # takes what only the library has
        shown = re.sub(r" override\b| = default$", "", text)
        return Declaration(
            "function",
            name,
            shown,
            trailing=trailing,
            overrides=" override" in text,
            parameters=parameters_of(text),
        )


def read_header(text, language):
    """The comment at the top of a header, and the items in it."""
    reader = Reader(text, language)
    intro = reader.read_comment()[0] if text.startswith(("//", "/*")) else []
    return intro, reader.read_scope()
