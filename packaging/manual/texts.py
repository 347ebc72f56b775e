"""Takes the texts of --help apart."""

import re
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

# The verbs that read what encrypt writes.
READERS = ("decrypt", "verify", "rekey", "info")
KINDS = {"FILE": "files", "FILE|FOLDER": "files", "PATH": "files", "FOLDER": "folders",
         "DIR": "folders", "CMD": "command", "VAR": "variable"}


def joined_lines(text):
    lines = (line.strip(" ") for line in text.split("\n"))
    return " ".join(line for line in lines if line)


def definition_of(line):
    """A line of a list: what stands before two or more spaces, and what follows them."""
    term, _, text = line.strip(" ").partition("  ")
    return term, text.strip(" ")


def parse_text(footer):
    """A footer: its paragraphs, and the lists under "Examples:" and "Exit status:"."""
    text = {"paragraphs": [], "examples": [], "exit_statuses": []}
    for part in footer.split("\n\n"):
        paragraph = part.strip(" \n")
        title, *lines = paragraph.split("\n")
        if title.startswith("Examples:"):
            text["examples"] = [definition_of(line) for line in lines]
        elif title.startswith("Exit status:"):
            text["exit_statuses"] = [definition_of(line) for line in lines]
        elif paragraph:
            text["paragraphs"].append(joined_lines(paragraph))
    return text


def sentence(note):
    """A note, without the parenthesis that ends it, as a sentence: "lists)" becomes "Lists."."""
    text = note[:-1] if note.endswith(")") else note
    return text[:1].upper() + text[1:] + "."


def sentences(paragraph):
    return re.split(r"(?<=\.)(?<!\.\.) (?=.)", paragraph)  # not behind an ellipsis


def short_text(text):
    """The first sentence without what follows a semicolon, parentheses and its full stop: beside a
    word to complete there is little space."""
    first = sentences(text)[0].partition(" (")[0].partition("; ")[0]
    return first[:-1] if first.endswith(".") and not first.endswith("..") else first


def split_word(word):
    """The punctuation before a word, the word, and that after it."""
    rest = word.lstrip("(")
    # An ellipsis and a file name such as `*.o` belong to the word.
    core = rest if rest.endswith("...") else rest.rstrip("),:;.")
    return word[: len(word) - len(rest)], core, rest[len(core) :]


def is_code(word):
    if len(word) > 1 and word[0] == "-":
        return word[1] == "-" or word[1] in ascii_letters
    if word == "-" or "*" in word or ("/" in word and word[0] not in ascii_letters):
        return True
    return word != "" and (word[0] in "$'" or word[-1] == "/")


def spans(text):
    """Pieces with the same look, as pairs: whether it is code, which a user types, and the text.
    What is in backquotes is code, and so are flags, globs and variables."""
    pieces = []

    def add(code, piece):
        if piece == "":
            return
        if pieces and pieces[-1][0] == code:
            pieces[-1] = (code, pieces[-1][1] + piece)
        elif code and len(pieces) > 1 and pieces[-1][1] == " ":  # code, a space, and code again
            pieces.pop()
            pieces[-1] = (True, f"{pieces[-1][1]} {piece}")
        else:
            pieces.append((code, piece))

    for number, part in enumerate(text.split("`")):
        if number % 2 == 1:
            add(True, part)
            continue
        for place, word in enumerate(part.split(" ")):
            add(False, " " if place > 0 else "")
            before, core, after = split_word(word)
            if is_code(core):
                add(False, before)
                add(True, core)
                add(False, after)
            else:
                add(False, word)
    return pieces


def stands_for_value(word):
    return not any(c in ascii_lowercase + digits for c in word)


def is_placeholder(word):
    """FILE, N, S, "..."."""
    return word == "..." or all(c in ascii_uppercase + "/" for c in word)


def kind_of(placeholder):
    if len(placeholder) > 5 and placeholder.endswith(".json"):
        return "files"
    return KINDS.get(placeholder, "text")


def values_of_flag(flag, words_of):
    """What completes the value of a flag: the kind, and for `words` and `list`, which has commas
    between them, the words. `words_of`: of some flags."""
    kind = kind_of(flag["type"]) if flag["type"] else "none"
    if kind != "text":
        return kind, []
    separator = "," if "," in flag["type"] else "|"
    words = [word.partition(":")[0] for word in flag["type"].split(separator)]  # cuda:N
    words = [word for word in words if not is_placeholder(word) and "=" not in word]
    name = flag["names"][-1]
    if name == "--kernel":
        words = list(dict.fromkeys(words + words_of[name]))
    elif name in words_of:
        words = words_of[name]
    return ("list" if separator == "," else "words") if words else "text", words


def values_of_argument(executable, verb, argument):
    words = argument.get("words", [])
    if argument["name"] == "VERB":
        words = [one["name"] for one in executable["verbs"]]
    if words:
        return "words", words
    kind = kind_of(argument["name"])
    return "sealed_files" if kind == "files" and verb["name"] in READERS else kind, []


def takes_several(argument):
    return "..." in argument["usage"]


def usage_of(executable, verb):
    """The arguments and flags of a verb in one line: "paraes info [OPTION...] [FILE]"."""
    words = [executable["name"], verb["name"], *(["[OPTION...]"] if verb["groups"] else [])]
    return " ".join(words + [argument["usage"] for argument in verb["arguments"]])


def flags_of(owner):
    """All flags of a verb, or of an executable without a verb, in their order."""
    return [flag for group in owner["groups"] for flag in group["flags"]]


def backslashed(text, special):
    return "".join("\\" + c if c in special else c for c in text)


def example_line(example):
    command, remark = example
    return command + (f"  # {remark}" if remark else "")
