"""devices, kernels by name, and PARAES_KERNEL and PARAES_CPU_MASK."""

import json

from support import IV, KEYS, Case

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]


class Devices(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])

    def listed(self, **env):
        return json.loads(self.ok("devices", "--json", env=env))

    def mask_all(self):
        return ",".join(self.listed()["cpu"]["features"])

    def test_schema(self):
        root = self.listed()
        self.assertEqual(set(root), {"cpu", "kernels", "devices"})
        self.assertEqual(set(root["cpu"]), {"model", "features"})
        self.assertIsInstance(root["cpu"]["model"], str)
        for feature in root["cpu"]["features"]:
            self.assertIsInstance(feature, str)
        names = [kernel["name"] for kernel in root["kernels"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"reference", "ttable", "openssl"}, set(names))
        for kernel in root["kernels"]:
            self.assertLessEqual({"name", "devices", "available", "constant_time", "reason"},
                                 set(kernel))
            self.assertIn(kernel["devices"],
                          (["cpu"], ["cuda", "hip", "opencl"], ["cpu", "cuda", "hip", "opencl"]))
            self.assertIsInstance(kernel["available"], bool)
            self.assertIsInstance(kernel["constant_time"], bool)
            self.assertEqual(kernel["reason"] is None, kernel["available"])
        for leaky in ("reference", "ttable"):
            self.assertFalse(root["kernels"][names.index(leaky)]["constant_time"])
        self.assertEqual(root["devices"][0]["id"], "cpu")
        for device in root["devices"]:
            self.assertEqual(set(device), {"id", "name", "memory", "driver", "compiler", "target",
                                           "same_as", "available", "reason",
                                           "type"})
            self.assertEqual(device["reason"] is None, device["available"])
        # Every runtime is there, or says what to do.
        for runtime in ("cuda", "hip", "opencl"):
            rows = [d for d in root["devices"] if d["id"].split(":")[0] == runtime]
            self.assertTrue(rows, runtime)
            for device in rows:
                if device["id"] == runtime:
                    self.assertFalse(device["available"])
                    self.assertRegex(device["reason"], "install|no .*GPU")

    def test_text_names_every_kernel(self):
        text = self.ok("devices").decode()
        for kernel in self.listed()["kernels"]:
            self.assertIn(kernel["name"], text)

    def test_a_missing_device_is_told_before_a_key_is_read(self):
        self.fails(1, "encrypt", "--device", "cuda:77", "--key-file", "/nowhere", "-", stdin=b"x",
                   says="cuda")

    def test_masked_kernels_say_why(self):
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

    def test_forcing_a_kernel_that_cannot_run(self):
        mask = self.mask_all()
        hidden = [k["name"] for k in self.listed(PARAES_CPU_MASK=mask)["kernels"]
                  if not k["available"]]
        if not hidden:
            self.skipTest("every kernel runs on any processor")
        for name in hidden:
            self.fails(1, "encrypt", *CTR, "--kernel", name, "-", stdin=b"x",
                       env={"PARAES_CPU_MASK": mask}, says=[name, "lacks"])

    def test_unknown_kernels(self):
        self.fails(2, "encrypt", *CTR, "--kernel", "quantum", "-", stdin=b"x",
                   says=["--kernel: there is no kernel 'quantum'", "reference"])
        self.fails(2, "encrypt", *CTR, "-", stdin=b"x", env={"PARAES_KERNEL": "quantum"},
                   says=["PARAES_KERNEL", "quantum"])

    def test_bad_masks(self):
        for verb in (["devices"], ["devices", "--json"], ["encrypt", *CTR, "-"]):
            self.fails(2, *verb, env={"PARAES_CPU_MASK": "mmx"}, says=["PARAES_CPU_MASK", "mmx"])

    def test_which_kernel_ran(self):
        self.write("f", b"x" * 1000)
        for name in ("reference", "ttable", "openssl"):
            line = self.ok("encrypt", *CTR, "--kernel", name, "--json", "-f", "f")
            self.assertEqual(json.loads(line)["kernel"], name)
            line = self.ok("encrypt", *CTR, "--json", "-f", "f", env={"PARAES_KERNEL": name})
            self.assertEqual(json.loads(line)["kernel"], name)
            line = self.ok("encrypt", *CTR, "--kernel", "openssl", "--json", "-f", "f",
                           env={"PARAES_KERNEL": name})
            self.assertEqual(json.loads(line)["kernel"], "openssl")

    def test_auto_is_the_first_constant_time_kernel(self):
        runs = [k["name"] for k in self.listed()["kernels"] if k["available"] and k["constant_time"]]
        if not runs:
            self.skipTest("no constant-time kernel runs here")
        for flags in ([], ["--kernel", "auto"]):
            done = self.run_paraes("encrypt", *CTR, *flags, "--json", "-", stdin=b"x")
            self.assertEqual(json.loads(done.stderr)["kernel"], runs[0])

    def test_devices_by_name(self):
        for name in ("auto", "cpu"):
            self.ok("encrypt", *CTR, "--device", name, "-", stdin=b"x")
        for name in ("cuda:77", "hip:77", "opencl:77"):
            self.fails(1, "encrypt", *CTR, "--device", name, "-", stdin=b"x", says=name.split(":")[0])
        for name in ("gpu", "", "cpu:1", "cuda:", "cuda:x", "cuda:0+0", "cuda:0+", "cuda:1,2"):
            self.fails(2, "encrypt", *CTR, "--device", name, "-", stdin=b"x", says="device")
        for flags in (["--allow-leaky"], ["--transfer", "mapped"], ["--key-expansion", "device"]):
            self.fails(2, "encrypt", *CTR, *flags, "-", stdin=b"x", says=flags[0])
