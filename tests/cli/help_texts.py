"""What the tests of --help check, of paraes and of paraes-mpi."""

import re

WIDTH = 80


def check_layout(case, text, program):
    """Checks the width of every line, that no line ends within a word, and that the text beside
    flags is indented. `program`: its bytes, which hold every text in one piece."""
    lines = text.splitlines()
    for line in lines:
        case.assertLessEqual(len(line), WIDTH, line)
        case.assertEqual(line, line.rstrip())
    for block in text.split("\n\n"):
        _, *flags = re.split(r"(?m)^(?=  -)", block)
        for line in "".join(flags).splitlines():
            case.assertTrue(line.startswith("  "), line)
    for line, following in zip(lines, lines[1:], strict=False):
        if not line.split() or not following.split():
            continue
        # A split word would be whole in the program.
        joined = f" {line.split()[-1]}{following.split()[0]}"
        case.assertFalse(joined.encode() in program, f"{line}\n{following}")


def examples(text):
    """The commands of the examples in a help text, without their remarks."""
    if "\nExamples:\n" not in text:
        return []
    block = text.split("\nExamples:\n")[1].split("\n\n")[0]
    return [re.split(r"\s{2,}", line.strip())[0] for line in block.splitlines()]
