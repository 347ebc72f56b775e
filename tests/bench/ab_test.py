"""Tests of bench/ab with stand-ins for two builds of paraes, whose reports have chosen times."""

import os
import sys
import unittest

import cases

AB = os.environ.get("PARAES_BENCH_AB", "ab")

# A program that reports 1000 ns times factor(row, number of rows in this call) for each row.
FAKE = """#!{python}
import itertools, json, sys

def factor(row, rows):
    return {factor}

words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write({name!r} + " " + " ".join(words) + "\\n")
if words[0] == "devices":
    kernel = {{"available": True, "constant_time": True, "devices": ["cpu"]}}
    names = {kernels!r}
    leaky = dict(kernel, name="ttable", constant_time=False)
    print(json.dumps({{"kernels": [dict(kernel, name=name) for name in names] + [leaky]}}))
    sys.exit()
axes = dict(zip(words[1::2], words[2::2]))
sizes = {{"16KiB": 1 << 14, "1MiB": 1 << 20, "64MiB": 1 << 26, "128MiB": 1 << 27}}
scope = axes.get("--scope", "memory")
rows = []
for kernel, mode, bits, direction, threads, size in itertools.product(
        axes["--kernel"].split(","),
        axes.get("--mode", "gcm" if scope == "file" else "ecb,ctr").split(","),
        axes.get("--key-bits", "128").split(","),
        axes.get("--direction", "encrypt,decrypt").split(","),
        axes.get("--threads", "1").split(","), axes["--size"].split(",")):
    if kernel == "auto" and len(axes["--kernel"].split(",")) > 1:
        continue
    rows.append({{"scope": scope, "format": "paraes" if scope == "file" else None,
                 "kernel": {kernels!r}[0] if kernel == "auto" else kernel, "mode": mode,
                 "key_bits": int(bits), "direction": direction, "threads": int(threads),
                 "bytes": sizes.get(size) or int(size), "verified": {verified}}})
for row in rows:
    row["median_ns"] = 1000 * factor(row, len(rows))
print(json.dumps({{"results": rows}}))
sys.exit(0 if all(row["verified"] for row in rows) else 1)
"""


class AbTest(cases.FolderCase):
    def fake(self, name, factor="1", kernels=("vaes512", "aesni"), verified="True"):
        text = FAKE.format(python=sys.executable, factor=factor, log=str(self.log), name=name,
                           kernels=list(kernels), verified=verified)
        return self.write(name, text, 0o755)

    def compare(self, new, *flags):
        """Return the exit status, the output and the report."""
        return self.run_script(AB, self.fake("old"), new, "--passes", "2", *flags)

    def test_equal_programs_pass(self):
        for flags in ([], ["--quick"]):
            status, text, report = self.compare(self.fake("new"), *flags)
            self.assertEqual(status, 0, text)
            self.assertIn("NEW is not slower", text)
            self.assertEqual([line["mode"] for line in report["modes"]], ["ctr", "ecb", "file"])
            self.assertTrue(all(row["ratios"] == [1] * 2 for row in report["rows"]))
            self.assertTrue(all(row["again"] is None for row in report["rows"]))
            self.assertEqual({row["kernel"] for row in report["rows"]}, {"vaes512", "aesni"})

    def test_a_new_program_that_is_slower_everywhere_fails(self):
        status, text, report = self.compare(self.fake("new", factor="1.03"), "--quick")
        self.assertEqual(status, 1, text)
        self.assertIn("ctr: the geometric mean is 0.971, below 0.98", text)
        self.assertEqual(len(report["broken"]), 3)

    def test_a_new_program_that_is_faster_passes(self):
        self.assertEqual(self.compare(self.fake("new", factor="0.5"), "--quick")[0], 0)

    def test_one_row_that_stays_slow_fails(self):
        slow = 'row["kernel"] == "aesni" and row["mode"] == "ctr" and row["bytes"] == 1 << 20 ' \
               'and row["direction"] == "decrypt" and row["key_bits"] == 128 ' \
               'and row["threads"] == 1'
        new = self.fake("new", factor=f"1.07 if {slow} else 0.99")
        status, text, report = self.compare(new)
        self.assertEqual(status, 1, text)
        self.assertEqual(report["broken"],
                         ["aesni ctr 128 decrypt 1 MiB 1 thread: 0.935, below 0.95"])
        again = [row["again"] for row in report["rows"] if row["again"] is not None]
        self.assertEqual([len(ratios) for ratios in again], [2])

    def test_a_row_that_is_slow_only_once_passes(self):
        # Slow among others, but not when it is measured alone.
        new = self.fake("new", factor='1.2 if row["kernel"] == "aesni" and rows > 1 else 1')
        status, text, report = self.compare(new, "--quick")
        self.assertEqual(status, 0, text)
        self.assertIn("were measured again", text)
        self.assertTrue(any(row["again"] for row in report["rows"]))

    def test_a_file_that_is_slower_fails(self):
        new = self.fake("new", factor='1.1 if row["scope"] == "file" else 1')
        status, text, _ = self.compare(new, "--quick", "--dir", str(self.folder))
        self.assertEqual(status, 1, text)
        self.assertIn("file", text)
        calls = self.log.read_text().splitlines()
        self.assertTrue(any(f"--dir {self.folder}" in call for call in calls))

    def test_the_program_that_goes_first_alternates(self):
        self.compare(self.fake("new"), "--quick")
        calls = [line.split()[0] for line in self.log.read_text().splitlines()
                 if line.split()[1] == "bench"]
        self.assertEqual(calls, ["old", "new", "new", "old", "new", "old", "old", "new"])

    def test_only_kernels_of_both_programs_are_compared(self):
        new = self.fake("new", kernels=("vaes512", "armv8"))
        status, text, report = self.compare(new, "--quick")
        self.assertEqual(status, 0, text)
        self.assertEqual({row["kernel"] for row in report["rows"]}, {"vaes512"})

    def test_programs_that_cannot_be_measured_exit_with_2(self):
        for new in (self.fake("new", verified="False"), self.folder / "absent",
                    self.fake("dies", factor="1 / 0")):
            status, text, report = self.compare(new, "--quick")
            self.assertEqual(status, 2, text)
            self.assertIn("bench/ab: ", text)
            self.assertIsNone(report)


if __name__ == "__main__":
    unittest.main()
