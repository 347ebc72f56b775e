"""`paraes devices`, --device, --kernel, PARAES_KERNEL and PARAES_CPU_MASK."""

import json

from support import IV, KEYS, Case

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]


class Devices(Case):
    GIVEN = {"k": KEYS[256]}

    def listed(self, **env):
        return self.report("devices", env=env)

    def mask_all(self):
        return ",".join(self.listed()["cpu"]["features"])

    def test_devices_json_has_the_documented_members(self):
        root = self.listed()
        self.assertEqual(set(root), {"cpu", "kernels", "devices"})
        self.assertEqual(set(root["cpu"]), {"model", "features"})
        names = [kernel["name"] for kernel in root["kernels"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"reference", "ttable", "openssl"}, set(names))
        for kernel in root["kernels"]:
            self.assertLessEqual({"name", "devices", "available", "constant_time", "reason"},
                                 set(kernel))
            self.assertIn(kernel["devices"],
                          (["cpu"], ["cuda", "hip", "opencl"], ["cpu", "cuda", "hip", "opencl"]))
            self.assertEqual(kernel["reason"] is None, kernel["available"])
        for leaky in ("reference", "ttable"):
            self.assertFalse(root["kernels"][names.index(leaky)]["constant_time"])
        self.assertEqual(root["devices"][0]["id"], "cpu")
        for device in root["devices"]:
            self.assertEqual(set(device), {"id", "name", "memory", "driver", "compiler",
                                           "compiler_reason", "target", "same_as", "available",
                                           "reason", "type"})
            self.assertEqual(device["reason"] is None, device["available"])
        # A runtime that is missing says what to install.
        for runtime in ("cuda", "hip", "opencl"):
            rows = [d for d in root["devices"] if d["id"].split(":")[0] == runtime]
            self.assertTrue(rows, runtime)
            for device in rows:
                if device["id"] == runtime:
                    self.assertFalse(device["available"])
                    self.assertRegex(device["reason"], "install|no .*GPU|mount it")

    def test_table_says_why_programs_are_not_kept(self):
        self.path("open").mkdir()
        self.path("open").chmod(0o777)
        for cache, kept in (("own", True), ("open", False)):
            env = {"XDG_CACHE_HOME": str(self.path(cache))}
            listed = self.report("devices", env=env)["devices"]
            if not any(row["available"] for row in listed if row["id"] != "cpu"):
                self.skipTest("there is no device that needs programs")
            reason = f"everybody can write to {self.path('open').resolve()}"
            self.assertEqual(reason not in self.ok("devices", env=env).decode(), kept)

    def test_missing_device_is_reported_before_the_key_is_read(self):
        self.fails(1, "encrypt", "--device", "cuda:77", "--key-file", "/nowhere", "-", stdin=b"x",
                   says="cuda")

    def test_kernels_hidden_by_the_cpu_mask_say_so(self):
        mask = self.mask_all()
        if not mask:
            self.skipTest("this processor has no feature to hide")
        root = self.listed(PARAES_CPU_MASK=mask)
        self.assertEqual(root["cpu"]["features"], [])
        hidden = [k for k in root["kernels"] if not k["available"]]
        for kernel in hidden:
            self.assertIn("PARAES_CPU_MASK", kernel["reason"])
        text = self.ok("devices", env={"PARAES_CPU_MASK": mask}).decode()
        table = text[text.index("\nkernel "):]
        self.assertEqual(table.count("unavailable: "), len(hidden))

    def test_forced_kernel_that_cannot_run_is_an_error(self):
        mask = self.mask_all()
        hidden = [k["name"] for k in self.listed(PARAES_CPU_MASK=mask)["kernels"]
                  if not k["available"]]
        if not hidden:
            self.skipTest("every kernel runs on any processor")
        for name in hidden:
            self.fails(1, "encrypt", *CTR, "--kernel", name, "-", stdin=b"x",
                       env={"PARAES_CPU_MASK": mask}, says=[name, "lacks"])

    def test_unknown_kernel_names_are_refused(self):
        self.fails(2, "encrypt", *CTR, "--kernel", "quantum", "-", stdin=b"x",
                   says=["--kernel: there is no kernel 'quantum'", "reference"])
        self.fails(2, "encrypt", *CTR, "-", stdin=b"x", env={"PARAES_KERNEL": "quantum"},
                   says=["PARAES_KERNEL", "quantum"])

    def test_unknown_feature_in_the_cpu_mask_is_refused(self):
        for verb in (["devices"], ["devices", "--json"], ["encrypt", *CTR, "-"]):
            self.fails(2, *verb, env={"PARAES_CPU_MASK": "mmx"}, says=["PARAES_CPU_MASK", "mmx"])

    def test_json_names_the_kernel_that_ran(self):
        self.write("f", b"x" * 1000)
        for name in ("reference", "ttable", "openssl"):
            line = self.ok("encrypt", *CTR, "--kernel", name, "--json", "-f", "f")
            self.assertEqual(json.loads(line)["kernel"], name)
            line = self.ok("encrypt", *CTR, "--json", "-f", "f", env={"PARAES_KERNEL": name})
            self.assertEqual(json.loads(line)["kernel"], name)
            line = self.ok("encrypt", *CTR, "--kernel", "openssl", "--json", "-f", "f",
                           env={"PARAES_KERNEL": name})
            self.assertEqual(json.loads(line)["kernel"], "openssl")

    def test_auto_kernel_is_the_first_constant_time_one(self):
        usable = [k["name"] for k in self.listed()["kernels"]
                  if k["available"] and k["constant_time"]]
        if not usable:
            self.skipTest("no constant-time kernel runs here")
        for flags in ([], ["--kernel", "auto"]):
            done = self.run_paraes("encrypt", *CTR, *flags, "--json", "-", stdin=b"x")
            self.assertEqual(json.loads(done.stderr)["kernel"], usable[0])

    def test_missing_devices_fail_and_bad_device_names_are_refused(self):
        for name in ("auto", "cpu"):
            self.ok("encrypt", *CTR, "--device", name, "-", stdin=b"x")
        for name in ("cuda:77", "hip:77", "opencl:77"):
            self.fails(1, "encrypt", *CTR, "--device", name, "-", stdin=b"x", says=name.split(":")[0])
        for name in ("gpu", "", "cpu:1", "cuda:", "cuda:x", "cuda:0+0", "cuda:0+", "cuda:1,2"):
            self.fails(2, "encrypt", *CTR, "--device", name, "-", stdin=b"x", says="device")
        for name, says in (("cuda:01", "01 must not begin with 0"),
                           ("cuda:0+00", "00 must not begin with 0"),
                           ("opencl:4294967296", "4294967296 is too large"),
                           ("hip:0+99999999999999999999", "99999999999999999999 is too large"),
                           ("cuda:-1", "numbers"), ("cuda:+1", "numbers"), ("cuda: 1", "numbers")):
            self.fails(2, "encrypt", *CTR, "--device", name, "-", stdin=b"x", says=says)
        self.fails(1, "encrypt", *CTR, "--device", "cuda:4294967295", "-", stdin=b"x", says="cuda")
        for flags in (["--allow-leaky"], ["--transfer", "mapped"], ["--key-expansion", "device"]):
            self.fails(2, "encrypt", *CTR, *flags, "-", stdin=b"x", says=flags[0])
