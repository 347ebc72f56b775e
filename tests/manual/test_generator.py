"""The programs that write pages, completions and the reference."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import BIN, BUILT, DESCRIBE, TREE, help_of, names_of, run, verbs_of

DATE = "2001-02-03"


class Generator(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paraes-manual-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def write(self, name, **variables):
        """Runs the programs, and returns the files that they wrote."""
        env = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
        folder = self.scratch / name
        description = self.scratch / f"{name}.json"
        script = [sys.executable, "-B", TREE / "packaging/manual/write.py"]
        for command in ([DESCRIBE, description], [*script, description, folder, DATE]):
            run(*command, check=True, env={**env, **variables})
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder): path.read_bytes() for path in files}

    def test_two_runs_write_the_same_bytes(self):
        first = self.write("a", TZ="Pacific/Auckland", LC_ALL="C", XDG_CACHE_HOME="/nowhere")
        second = self.write("b", TZ="UTC", LC_ALL="C.UTF-8", PARAES_CPU_MASK="aes")
        self.assertEqual(first, second)
        self.assertEqual(len(first), len([p for p in BUILT.rglob("*") if p.is_file()]))

    def test_the_date_is_that_of_the_release_or_of_source_date_epoch(self):
        # 1 s before and after midnight, UTC.
        for epoch, day in (("", DATE), ("86399", "1970-01-01"), ("1735689600", "2025-01-01")):
            variables = {"SOURCE_DATE_EPOCH": epoch, "TZ": "Pacific/Auckland"}
            for path, contents in self.write(f"epoch{epoch}", **variables).items():
                if path.suffix == ".1":
                    self.assertIn(f" 1 {day} ".encode(), contents, path)

    def test_a_wrong_epoch_is_an_error(self):
        for epoch in ("yesterday", "12x", " 12", "1_2", "+5"):
            with self.assertRaises(subprocess.CalledProcessError):
                self.write("wrong", SOURCE_DATE_EPOCH=epoch)

    def test_the_reference_in_docs_is_up_to_date(self):
        committed = (TREE / "docs/reference.md").read_text(encoding="utf-8")
        self.assertEqual(
            committed,
            (BUILT / "reference.md").read_text(encoding="utf-8"),
            "copy build/release/manual/reference.md to docs/reference.md",
        )

    def test_the_reference_has_every_verb_and_flag(self):
        text = (TREE / "docs/reference.md").read_text(encoding="utf-8")
        for verb in verbs_of(help_of(BIN)):
            part = text.split(f"\n### paraes {verb}\n")[1].split("\n### ")[0]
            if verb != "lab":  # it has a chapter of its own
                for name in names_of(help_of(BIN, verb)):
                    self.assertRegex(part, rf"(?m)^- .*`{name}\b", verb)
