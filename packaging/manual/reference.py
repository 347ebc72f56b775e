"""docs/reference.md: every verb and flag."""

from sections import ENVIRONMENT, FILES
from texts import backslashed, example_line, sentences, spans, usage_of

INTRODUCTION = """\
# Reference: the command line

<!-- Generated. After a change to the flags: `cmake --build --preset release`, then copy
     build/release/manual/reference.md here. -->

Every verb and flag, from the description that `--help` prints.
[command-line.md](command-line.md) explains them, with examples.
"""


def prose(text):
    return "".join(f"`{one}`" if code else backslashed(one, "*_<>[]|") for code, one in spans(text))


def paragraph(text, indent=""):
    """One sentence a line."""
    return indent.join(prose(one) + "\n" for one in sentences(text))


def item(term, text):
    return f"- `{term}`: {paragraph(text, '  ')}" if text else f"- `{term}`\n"


def flag_names(flag):
    value = flag["type"] and ("[={}]" if flag["value_is_optional"] else " {}").format(flag["type"])
    return "`, `".join(name + value for name in flag["names"])


def body(owner):
    """The paragraphs, flags and examples of an executable or a verb."""
    text = "".join(f"\n{paragraph(one)}" for one in owner["text"]["paragraphs"])
    for group in owner["groups"]:
        if group["title"] != "Options":
            text += f"\n**{group['title']}**\n"
        if group["note"]:
            text += f"\n{paragraph(group['note'])}"
        text += "\n" + "".join(item(flag_names(flag), flag["text"]) for flag in group["flags"])
    lines = "".join(example_line(example) + "\n" for example in owner["text"]["examples"])
    return text + (f"\n```\n{lines}```\n" if lines else "")


def verb_text(executable, verb):
    text = f"\n### {executable['name']} {verb['name']}\n\n{paragraph(verb['summary'])}"
    text += f"\n```\n{usage_of(executable, verb)}\n```\n" + ("\n" if verb["arguments"] else "")
    text += "".join(item(argument["name"], argument["text"]) for argument in verb["arguments"])
    return text + body(verb)


def reference(executables):
    text = INTRODUCTION
    for executable in executables:
        text += f"\n## {executable['name']}\n\n{paragraph(executable['summary'])}{body(executable)}"
        text += "".join(verb_text(executable, verb) for verb in executable["verbs"])
        statuses = "".join(item(*status) for status in executable["text"]["exit_statuses"])
        text += f"\n### Exit status of {executable['name']}\n\n{statuses}" if statuses else ""
    for title, rows in (("Environment", ENVIRONMENT), ("Files", FILES)):
        text += f"\n## {title}\n\n" + "".join(item(name, about) for name, about, _ in rows)
    return text
