"""Tests of bench/figures with the built paraes, or with made up rows. Which goals it
reaches is not tested."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import cases

sys.path.insert(0, str(cases.TREE / "bench"))
import figure_commands

FIGURES = cases.TREE / "bench/figures"


def figures(*flags):
    """Return the exit status and the lines of the table."""
    done = subprocess.run(
        [sys.executable, "-B", FIGURES, "--paraes", os.environ["PARAES_BIN"], "--only", "cache",
         "--samples", "1", "--min-time", "0", *flags], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


class MadeUpFiles:
    """In place of Bench: file rows of the asked sizes, where the times are known."""

    program = None
    samples = 1

    def __init__(self, copy_threads=True):
        self.copy_threads = copy_threads

    def run(self, *axes, samples):
        sizes = axes[axes.index("--size") + 1].split(",")
        rows, skipped = [], []
        for size in sizes:
            number, unit = re.fullmatch(r"(\d+)(MiB|GiB)", size).groups()
            size = int(number) << {"MiB": 20, "GiB": 30}[unit]

            def row(rival, mode, direction, threads, ns, size=size):
                return {"rival": rival, "mode": mode, "direction": direction, "threads": threads,
                        "scope": "file", "bytes": size, "median_ns": ns, "verified": True}

            rows += [row(None, "gcm", "encrypt", 2, 100), row(None, "gcm", "decrypt", 2, 80)]
            rows += [row("openssl-enc", "ctr", "encrypt", 1, 300),
                     row("openssl-enc", "ctr", "decrypt", 1, 160)]
            rows += [row("age", None, "encrypt", 1, 90), row("age", None, "decrypt", 1, 160)]
            copies = [row("copy-threads", None, None, threads, ns)
                      for threads, ns in ((1, 190), (2, 96))]
            if self.copy_threads:
                rows += copies
            else:
                skipped += [copy | {"reason": "no copies"} for copy in copies]
        return {"results": rows, "skipped": skipped}


def figures_of_commands(name, medians):
    """Return the lines of `disk` or `programs` by name, with made up times of their commands."""
    loaded = cases.load("figures")

    class MadeUpCommands(figure_commands.Commands):
        def shell(self, command):
            pass

        def run(self, bytes_, **commands):
            return {command: medians.get(command, 1) for command in commands}

    table = loaded.Table()
    with (mock.patch.object(figure_commands, "Commands", MadeUpCommands),
          tempfile.TemporaryDirectory() as folder):
        vars(loaded)[name](table, "/absent/paraes", folder, 1)
        left = os.listdir(folder)
    assert not left, left
    return {line["figure"]: line for line in table.lines}


def figures_of_files(bench):
    """Return the lines of the figures of files, by name."""
    loaded = cases.load("figures")
    loaded.peak_memory = lambda *_: 20
    table = loaded.Table()
    loaded.files(bench, table, "/absent")
    return {line["figure"]: line for line in table.lines}


class FiguresTest(unittest.TestCase):
    def test_ratios_are_measured_and_versions_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "figures.json"
            status, lines = figures("-o", str(path))
            report = json.loads(path.read_text())
        self.assertEqual(status, 0, lines)
        openssl = next(line for line in lines if line.startswith("CTR-128 / OpenSSL"))
        self.assertRegex(openssl, r"≥ 2.3 +\d+\.\d\d  (yes|NO) \(")
        self.assertRegex(lines[-1], r"^versions: .*openssl-evp \d+\.")
        self.assertEqual([line["figure"] for line in report["figures"]][2], "CTR-128 / OpenSSL")
        self.assertTrue(report["runs"][0]["results"])

    def test_other_libcryptos_are_figures_without_a_goal(self):
        libcrypto = os.environ["PARAES_LIBCRYPTO"]
        if libcrypto.endswith(".a"):
            self.skipTest("libcrypto is linked statically")
        status, lines = figures("--libcrypto", libcrypto)
        self.assertEqual(status, 0, lines)
        if any("sanitizer" in line for line in lines):
            self.skipTest("a build with a sanitizer opens no other libcrypto")
        other = [line for line in lines if "/ openssl-evp@" in line]
        self.assertEqual(len(other), 3, lines)
        for line in other:
            self.assertRegex(line, r" - +\d+\.\d\d  - \(")
        version = re.match(r"CTR-128 / openssl-evp@(\S+)", other[0])[1]
        self.assertIn(f"openssl-evp@{version} OpenSSL {version}", lines[-1])

    def test_files_are_compared_with_a_copy_from_16_mib_on_and_with_programs_at_1_mib(self):
        lines = figures_of_files(MadeUpFiles())
        expected = {f"{size} file / copy-threads": (0.95, 0.96, True, f"{size} encrypt")
                    for size in ("16 MiB", "256 MiB", "2 GiB")}
        self.assertEqual(expected.keys(), {name for name in lines if "copy-threads" in name})
        expected["1 MiB file / openssl enc -aes-256-ctr"] = (1.0, 2.0, True, "1 MiB decrypt")
        expected["1 MiB file / age"] = (1.0, 0.9, False, "1 MiB encrypt")
        for name, of_line in expected.items():
            self.assertEqual(tuple(lines[name][key] for key in
                                   ("goal", "measured", "reached", "where")), of_line, name)
        # At 2 GiB the copy is the only goal.
        self.assertEqual({line["goal"] for name, line in lines.items()
                          if name.startswith("2 GiB file /") and "copy" not in name}, {None})

    def test_disks_are_compared_with_a_copy_that_is_synced(self):
        lines = figures_of_commands("disk", {"paraes_encrypt_disk": 8, "paraes_decrypt_disk": 16,
                                             "cp_and_sync": 12})
        self.assertEqual([(name, line["goal"], line["measured"], line["reached"])
                          for name, line in lines.items()],
                         [("1 GiB on a disk, encrypt / cp and sync", 1.0, 1.5, True),
                          ("1 GiB on a disk, decrypt / cp and sync", 1.0, 0.75, False)])

    def test_verify_is_compared_with_reading(self):
        lines = figures_of_commands("programs", {"paraes_verify": 4, "cat": 5, "nothing": 0})
        self.assertEqual(lines["verify / reading by cat"]["measured"], 1.25)

    def test_a_missing_copy_is_the_reason_of_its_figures_only(self):
        lines = figures_of_files(MadeUpFiles(copy_threads=False))
        missing = [name for name, line in lines.items() if line["measured"] is None]
        self.assertEqual(len(missing), 3)
        for name in missing:
            self.assertEqual(lines[name]["where"], "no copies")
            self.assertIn("copy-threads", name)

    def test_a_file_that_is_no_libcrypto_is_the_reason_of_all_figures(self):
        status, lines = figures("--libcrypto", "/absent")
        self.assertEqual(status, 0, lines)
        self.assertEqual(len([line for line in lines if "not measured: --rivals: /absent" in line]),
                         len(lines) - 1)


if __name__ == "__main__":
    unittest.main()
