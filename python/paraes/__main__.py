"""`python -m paraes`: replaces this process with the command paraes of this installation."""

import importlib.metadata
import os
import sys


def find_program() -> str | None:
    """Return the path of the command that was installed with this package."""
    try:
        files = importlib.metadata.distribution("paraes").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "paraes" and file.parent.name in ("bin", "Scripts"):
            path = str(file.locate())
            if os.access(path, os.X_OK):
                return path
    return None


def main() -> None:
    program = find_program()
    if program is None:
        sys.exit("paraes: this installation has no command `paraes`: CLI11, fmt or nlohmann-json "
                 "was missing when it was built (Debian and Ubuntu: apt-get install libcli11-dev "
                 "libfmt-dev nlohmann-json3-dev, then pip install again)")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
