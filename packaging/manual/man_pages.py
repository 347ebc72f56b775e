"""Manual pages, in the macros of man(7)."""

import re
import textwrap

from sections import ENVIRONMENT, FILES, OVERVIEW, RELATED, uses_age
from texts import example_line, flags_of, sentence, sentences, spans, stands_for_value

WIDTH = 80  # columns, of the source of a page
# Hyphens as ASCII, so that flags can be copied from the page.
SPECIAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha",
                         "~": r"\(ti"})


def escaped(text):
    return text.translate(SPECIAL)


def bold(text):
    return rf"\fB{escaped(text)}\fR"


def italic(text):
    return rf"\fI{escaped(text)}\fR"


def wrapped(text):
    """Lines, broken at spaces alone."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def phrase(summary):
    """A summary of --help as it is usual in NAME: "encrypts files or a pipe"."""
    text = summary.replace("`", "")
    text = text[:-1] if text.endswith(".") else text
    return text[:1].lower() + text[1:]


def type_text(value_type):
    """ "staged|mapped": words are bold, what stands for a value is in italics."""
    text = ""
    for part in re.split("([|,=])", value_type):
        if part in ("|", ","):
            text += part + r"\:"  # a line may break here
        elif part not in ("", "="):
            text += italic(part) if stands_for_value(part) else bold(part)
        else:
            text += part
    return text


def flag_names(flag):
    text = ", ".join(map(bold, flag["names"]))
    if not flag["type"]:
        return text
    value = type_text(flag["type"])
    return f"{text}[={value}]" if flag["value_is_optional"] else f"{text} {value}"


def arguments_text(verb):
    words = [f"[{italic('OPTION')}...]"] if verb["groups"] else []
    for argument in verb["arguments"]:
        # FILE, [FILE...]: brackets and dots are not in italics.
        before, name, after = argument["usage"].partition(argument["name"])
        words.append(escaped(before) + italic(name) + escaped(after))
    return " ".join(words)


class Page:
    def __init__(self, executable, date, verb=None):
        """Of an executable or one of its verbs, up to its synopsis."""
        self.name = executable["name"] + (f"-{verb['name']}" if verb else "")
        self.lines = [
            r'.\" Generated from the description that --help prints: see packaging/manual.',
            f'.TH {escaped(self.name.upper())} 1 {date} "paraes {executable["version"]}" '
            '"User Commands"',
            # No hyphenation, and no spaces between words to fill lines.
            ".nh",
            ".ad l",
        ]
        self.section("NAME")
        summary = (verb or executable)["summary"]
        self.literal(wrapped(rf"{escaped(self.name)} \- {escaped(phrase(summary))}"))
        self.section("SYNOPSIS")

    def section(self, title):
        self.lines.append(f".SH {title}")

    def subsection(self, title):
        self.lines.append(f".SS {escaped(title)}")

    def literal(self, lines):
        # A line that begins with a dot or an apostrophe would be a request.
        self.lines += [r"\&" + line if line[:1] in (".", "'") and line else line for line in lines]

    def begin(self, request):
        if not self.lines[-1].startswith((".SH", ".SS")):
            self.lines.append(request)

    def prose(self, text):
        for one in sentences(text):
            words = (bold(piece) if code else escaped(piece) for code, piece in spans(one))
            self.literal(wrapped("".join(words)))

    def paragraphs(self, *texts):
        for text in texts:
            self.begin(".PP")
            self.prose(text)

    def definition(self, term, text):
        """`term` is in the language of the page."""
        self.lines += [".TP", term]
        self.prose(text)

    def synopsis(self, name, rest):
        """One of several ways to call a program."""
        self.begin(".br")
        self.lines.append(bold(name) + (f" {rest}" if rest else ""))

    def flags(self, group):
        if group["note"]:
            self.paragraphs(group["note"])
        for flag in group["flags"]:
            self.definition(flag_names(flag), flag["text"])

    def options(self, owner, titled):
        """All groups; those for which titled(group) is true with a title."""
        for group in owner["groups"]:
            if titled(group):
                self.subsection(group["title"])
            self.flags(group)

    def verb(self, verb):
        """Its description and its arguments."""
        self.paragraphs(*(verb["text"]["paragraphs"] or [verb["summary"]]))
        for argument in verb["arguments"]:
            self.definition(italic(argument["name"]), argument["text"])

    def rows(self, title, rows, verb=None):
        rows = [row for row in rows if verb is None or verb in row[2].split()]
        if rows:
            self.section(title)
        for name, text, _ in rows:
            self.definition(bold(name), text)

    def exit_statuses(self, executable):
        statuses = executable["text"]["exit_statuses"]
        if statuses:
            self.section("EXIT STATUS")
        for term, text in statuses:
            self.definition(bold(term), sentence(text))

    def examples(self, examples):
        if not examples:
            return
        self.section("EXAMPLES")
        self.lines.append(".nf")
        for example in examples:
            self.literal([example_line(example)])
        self.lines.append(".fi")

    def see_also(self, names):
        """Names are "paraes-encrypt" or "openssl-enc(1ssl)"."""
        self.section("SEE ALSO")
        for number, name in enumerate(names, 1):
            name, _, section = name.partition("(")
            comma = "," if number < len(names) else ""
            self.lines.append(f".BR {escaped(name)} ({section or '1)'}{comma}")

    def take(self):
        return f"{self.name}.1", "\n".join(self.lines) + "\n"


def has_page(verb):
    return verb["name"] not in ("help", "version")


def verb_page(executable, verb, date):
    page = Page(executable, date, verb)
    page.synopsis(f"{executable['name']} {verb['name']}", arguments_text(verb))
    page.section("DESCRIPTION")
    page.verb(verb)
    page.section("OPTIONS")
    page.options(verb, lambda group: group["title"] != "Options")
    page.exit_statuses(executable)
    page.rows("ENVIRONMENT", ENVIRONMENT, verb["name"])
    page.rows("FILES", FILES, verb["name"])
    page.examples(verb["text"]["examples"])
    related = [f"{executable['name']}-{other}" for other in RELATED[verb["name"]].split()]
    age = ["age(1)"] if uses_age(verb["name"]) else []
    page.see_also([executable["name"], *related, *age])
    return page.take()


def overview_page(executable, date):
    page = Page(executable, date)
    name = executable["name"]
    option, file = italic("OPTION"), italic("FILE")
    page.synopsis(name, f"{italic('VERB')} [{option}...] [{file}...]")
    page.synopsis(f"{name} help", f"[{italic('VERB')}]")
    page.section("DESCRIPTION")
    page.paragraphs(executable["summary"], *OVERVIEW, *executable["text"]["paragraphs"])
    page.section("VERBS")
    for verb in executable["verbs"]:
        term = f"{name}-{verb['name']}" if has_page(verb) else f"{name} {verb['name']}"
        page.definition(bold(term) + ("(1)" if has_page(verb) else ""), verb["summary"])
    page.section("OPTIONS")
    page.options(executable, lambda group: False)
    page.exit_statuses(executable)
    page.rows("ENVIRONMENT", ENVIRONMENT)
    page.rows("FILES", FILES)
    page.examples(executable["text"]["examples"])
    pages = [f"{name}-{verb['name']}" for verb in executable["verbs"] if has_page(verb)]
    page.see_also([*pages, "paraes-mpi", "age(1)", "openssl-enc(1ssl)"])
    return page.take()


def own_flags(verb, other):
    """The flags of `verb` that `other` lacks, or that mean something else there."""
    return [flag for flag in flags_of(verb) if flag not in flags_of(other)]


def common_options(verb, other, same):
    """ "All options of `paraes bench`, except --message and --keys, and:" """
    names = [flag["names"] for flag in flags_of(verb)]
    absent = [flag["names"][-1] for flag in flags_of(same) if flag["names"] not in names]
    text = f"All options of `{other['name']} {verb['name']}`"
    if not absent:
        return f"{text} and:"
    last = " and ".join([", ".join(absent[:-1]), absent[-1]] if len(absent) > 1 else absent)
    return f"{text}, except {last}, and:"


def difference_page(executable, other, date):
    """Of an executable whose verbs are those of another one, with other flags."""
    page = Page(executable, date)
    name = executable["name"]
    for verb in filter(has_page, executable["verbs"]):
        command = bold(f"{name} {verb['name']}")
        page.synopsis("mpirun -n", f"{italic('N')} {command} {arguments_text(verb)}")
    page.section("DESCRIPTION")
    page.paragraphs(*executable["text"]["paragraphs"])
    page.section("OPTIONS")
    page.options(executable, lambda group: False)
    examples = list(executable["text"]["examples"])
    pages = [other["name"]]
    verbs = {verb["name"]: verb for verb in other["verbs"]}
    for verb in executable["verbs"]:
        same = verbs.get(verb["name"])
        if same is None or not own_flags(verb, same):
            continue
        pages.append(f"{other['name']}-{verb['name']}")
        page.subsection(f"{name} {verb['name']}")
        page.paragraphs(common_options(verb, other, same))
        for flag in own_flags(verb, same):
            page.definition(flag_names(flag), flag["text"])
        commands = [command for command, _ in examples]
        examples += [one for one in verb["text"]["examples"] if one[0] not in commands]
    page.exit_statuses(other)
    page.section("ENVIRONMENT")
    page.paragraphs(f"The variables of `{other['name']}`, on every rank.")
    page.examples(examples)
    page.see_also([*pages, "mpirun", "srun"])
    return page.take()


def whole_page(executable, date):
    """Of an executable with all of its verbs: paraes-lab."""
    page = Page(executable, date)
    for verb in executable["verbs"]:
        page.synopsis(f"{executable['name']} {verb['name']}", arguments_text(verb))
    page.section("DESCRIPTION")
    page.paragraphs(executable["summary"], "`paraes lab` runs this program, which the Python "
                    "package of paraes installs.")
    page.section("OPTIONS")
    page.options(executable, lambda group: False)
    for verb in executable["verbs"]:
        page.section(verb["name"].upper())
        page.verb(verb)
        page.options(verb, lambda group: group["note"])
    page.exit_statuses(executable)
    page.rows("ENVIRONMENT", ENVIRONMENT, "lab")
    page.examples(executable["text"]["examples"])
    page.see_also(["paraes", "paraes-bench", "paraes-mpi"])
    return page.take()
