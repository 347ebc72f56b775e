"""The cases of testvectors/, as testvectors/README.md describes them."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testvectors"


def all_cases():
    """A list of (name, fields, message or file)."""
    cases = []
    for path in sorted((FOLDER / "cases").iterdir()):
        head, content = path.read_bytes().split(b"\n\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\n"))
        cases.append((path.name, fields, content))
    return cases
