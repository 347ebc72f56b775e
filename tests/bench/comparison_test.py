"""bench/comparison: small measurements, with stand-ins for programs that are wrong or missing, and
the table that it writes."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import cases

TREE = cases.TREE
SCRIPT = TREE / "bench" / "comparison"
PARAES = os.environ["PARAES_BIN"]
SMALL = ("--large", "1MiB", "--files", "3", "--small", "1KiB", "--rounds", "2", "--folder")
# Encrypts by copying; decrypting adds a byte to a file if BREAK is set. (Whoever reads the end of
# an archive from a pipe may be gone before another byte.)
AGE = """#!/bin/bash
target=/dev/stdout source=/dev/stdin
while (($#)); do
  case $1 in
    -R | -i) shift ;;
    -d) decrypts=1 ;;
    -o) target=$2; shift ;;
    *) source=$1 ;;
  esac
  shift
done
cat "$source" > "$target"
if [[ -n $BREAK && -n $decrypts && -f $target ]]; then echo >> "$target"; fi
"""
AGE_KEYGEN = "#!/bin/bash\necho key\n"


class ComparisonCase(cases.FolderCase):
    def setUp(self):
        super().setUp()
        (self.folder / "work").mkdir()

    def run_comparison(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments],
                              env=os.environ | environment, capture_output=True, text=True,
                              timeout=250, check=False)

    def measure(self, programs, **environment):
        """Measures, and returns the status, the report, and the last line of standard error."""
        path = self.folder / "report.json"
        done = self.run_comparison("--paraes", PARAES, *SMALL, self.folder / "work", "--programs",
                                   programs, "-o", path, **environment)
        report = json.loads(path.read_text()) if path.exists() else None
        return done.returncode, report, done.stderr.strip().splitlines()[-1]

    def stand_in(self, **contents):
        """Makes programs in a folder, and returns a PATH that begins with it."""
        for name, text in contents.items():
            self.write(f"bin/{name.replace('_', '-')}", text, 0o755)
        return f"{self.folder}/bin:{os.environ['PATH']}"

    def short_path(self):
        """Returns a PATH with nothing but what the script needs."""
        folder = self.folder / "few"
        folder.mkdir()
        for name in ("bash", "cp", "mv", "tar", "uname"):
            (folder / name).symlink_to(shutil.which(name))
        return str(folder)


class Measuring(ComparisonCase):
    def test_every_installed_program_is_measured_and_verified(self):
        installed = [name for name, program in
                     (("age", "age"), ("openssl enc", "openssl"), ("gpg", "gpg"),
                      ("restic", "restic"), ("rclone crypt", "rclone")) if shutil.which(program)]
        names = ["paraes", "copy", *installed]
        status, report, last = self.measure(",".join(names))
        self.assertEqual(status, 0, last)
        found = {(row["program"], row["subject"], row["direction"]) for row in report["results"]}
        self.assertEqual(found, set(itertools.product(
            names, ("file", "folder"), ("encrypt", "decrypt"))))
        for row in report["results"]:
            self.assertEqual(len(row["samples_ns"]), 2, row)
            self.assertGreater(row["median_ns"], 0, row)
            self.assertEqual(row["bytes"], 1 << 20 if row["subject"] == "file" else 3 << 10)
        self.assertEqual(report["context"]["rounds"], 2)
        self.assertIn("openssl", report["context"]["libraries"])
        self.assertEqual(list((self.folder / "work").iterdir()), [])

    def test_wrong_bytes_end_it(self):
        path = self.stand_in(age=AGE, age_keygen=AGE_KEYGEN)
        status, report, last = self.measure("age", PATH=path)
        self.assertEqual((status, last), (0, "round 2 of 2"))
        (self.folder / "report.json").unlink()
        status, report, last = self.measure("age", PATH=path, BREAK="1")
        self.assertEqual(status, 1)
        self.assertRegex(last, "age: the decrypted file is another one")
        self.assertIsNone(report)

    def test_failing_program_ends_it(self):
        path = self.stand_in(age="#!/bin/bash\necho no >&2\nexit 3\n", age_keygen=AGE_KEYGEN)
        status, report, last = self.measure("age", PATH=path)
        self.assertEqual((status, report, last), (2, None, "no"))

    def test_missing_program_is_left_out_with_the_reason(self):
        status, report, last = self.measure("paraes,restic", PATH=self.short_path())
        self.assertEqual(status, 0, last)
        self.assertEqual({row["program"] for row in report["results"]}, {"paraes"})
        self.assertEqual(
            report["skipped"], [{"program": "restic", "reason": "restic is not installed"}]
        )

    def test_unknown_program_and_no_room_are_errors(self):
        status, _, last = self.measure("agee")
        self.assertEqual(status, 2)
        self.assertIn("agee: there is no such program", last)
        done = self.run_comparison("--paraes", PARAES, "--large", "4000000GiB", "--folder", "/tmp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("are needed there", done.stderr)

    def test_folders_that_differ_are_not_the_same(self):
        comparison = cases.load("comparison")
        first, second = self.folder / "a", self.folder / "b"
        for path in (first, second):
            path.mkdir()
            (path / "f").write_text("text")
        self.assertTrue(comparison.same(first, second))
        (second / "g").write_text("")
        self.assertFalse(comparison.same(first, second))
        (second / "g").unlink()
        (second / "f").write_text("texT")
        self.assertFalse(comparison.same(first, second))
        self.assertFalse(comparison.same(first, self.folder / "none"))
        self.assertFalse(comparison.same(first / "f", self.folder / "none"))


class Tables(ComparisonCase):
    def report(self):
        rows = [{"program": "paraes", "version": "1.2", "settings": "all cores", "subject": subject,
                 "direction": direction, "median_ns": median, "peak_bytes": peak}
                for subject, direction, median, peak in (
                    ("file", "encrypt", 400_000_000, 32 << 20),
                    ("file", "decrypt", 500_000_000, 16 << 20),
                    ("folder", "encrypt", 60_000_000, None),
                    ("folder", "decrypt", 70_000_000, 8 << 20))]
        context = {"large_bytes": 1 << 30, "small_bytes": 1 << 16, "files": 1000, "rounds": 7,
                   "cores": 2, "cpu": "a CPU", "time": "2026-11-25T10:00:00Z",
                   "folder": "/dev/shm"}
        path = self.folder / "report.json"
        path.write_text(json.dumps({"context": context, "results": rows, "skipped": []}))
        return str(path)

    def table(self, *arguments, status=0):
        done = self.run_comparison("--table", *map(str, arguments))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_table_has_a_row_for_each_program(self):
        shown = self.table(self.report()).stdout
        self.assertIn(
            "| paraes 1.2 | 0.40 s | 0.50 s | 0.06 s | 0.07 s | 32 MiB | all cores |\n", shown
        )
        self.assertIn("| program | 1 GiB: encrypt | decrypt | 1,000 × 64 KiB: encrypt", shown)
        self.assertIn("Medians of 7 runs on 2 cores of a CPU, on 2026-11-25", shown)

    def test_table_replaces_what_is_between_the_markers(self):
        document = self.folder / "page.md"
        text = "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n"
        document.write_text(text)
        report = self.report()
        for _ in range(2):  # the second time changes nothing
            self.table(report, "--into", document)
            found = document.read_text()
            self.assertTrue(found.startswith("before\n<!-- figures: begin -->\n\n| program |"))
            self.assertTrue(
                found.endswith("([report.json](report.json)).\n\n<!-- figures: end -->\nafter\n")
            )
            self.assertNotIn("old", found)

    def test_document_without_markers_stays_as_it_is(self):
        document = self.folder / "page.md"
        document.write_text("no markers\n")
        done = self.table(self.report(), "--into", document, status=2)
        self.assertIn("markers", done.stderr)
        self.assertEqual(document.read_text(), "no markers\n")

    def test_the_table_of_the_document_is_that_of_its_report(self):
        document = TREE / "docs" / "comparison.md"
        text = document.read_text(encoding="utf-8")
        shown = re.search("<!-- figures: begin -->\n(.*)<!-- figures: end -->", text, re.DOTALL)
        named = re.search(r"\]\((\.\./bench/results/[^)]+)\)", shown[1])
        if named is None:
            self.assertEqual(shown[1].strip(), "Not measured yet.")
            return
        report = (document.parent / named[1]).resolve()
        copy = self.folder / "docs" / "comparison.md"
        copy.parent.mkdir()
        (self.folder / "bench" / "results").mkdir(parents=True)
        shutil.copy(report, self.folder / "bench" / "results")
        shutil.copy(document, copy)
        self.table(self.folder / "bench" / "results" / report.name, "--into", copy)
        self.assertEqual(copy.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
