"""The documents' pictures are those that the code draws from the stored results."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "pictures"


def test_pictures_are_up_to_date():
    command = [sys.executable, "-B", SCRIPT, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


