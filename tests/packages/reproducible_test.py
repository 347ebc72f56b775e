"""Builds the Debian packages and the wheel twice and compares every byte: in two folders, one after
the other, with other umasks and without ccache. Takes the last commit."""

import os
import pathlib
import tempfile
import time
import unittest

import support

EPOCH = "1700000000"


def last_commit():
    return support.run("git", "-C", support.SOURCE, "rev-parse", "HEAD").stdout.strip()


def build(folder, commit, umask):
    """Clones a commit into `folder` and builds there. Returns the files by their names."""
    support.run("git", "clone", "--quiet", support.SOURCE, folder)
    support.run("git", "-C", folder, "checkout", "--quiet", "--detach", commit)
    (folder / "build").mkdir(exist_ok=True)
    (folder / "build/venv").symlink_to(support.SOURCE / "build/venv")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    compiler = {name: value for name, value in support.cache().items() if "LAUNCHER" not in name}
    environment["CXX"] = compiler["CMAKE_CXX_COMPILER"]
    for name in ("CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_DIR"):
        environment.pop(name, None)
    options = [f"-D{name}={value}" for name, value in compiler.items()]
    for command in ([folder / "packaging/deb", *options], [folder / "packaging/wheel"]):
        support.run(
            *support.without_network(),
            *command,
            cwd=folder,
            env=environment,
            preexec_fn=lambda: os.umask(umask),
        )
    files = [
        *folder.glob("build/package/packages/*.deb"),
        *folder.glob("build/wheel/dist/*.whl"),
        folder / "build/package/cli/paraes",
        folder / "build/package/src/libparaes.a",
        folder / "build/package/paraes.spdx.json",
    ]
    return {path.name: path for path in files}


def unpacked_differences(first, second, scratch):
    """Differences between members of two archives, which say more than compressed bytes."""
    roots = []
    for number, path in enumerate((first, second)):
        root = scratch / f"{number}-{path.name}"
        root.mkdir(parents=True)
        if path.suffix == ".deb":
            support.run("dpkg-deb", "-R", path, root)
        else:
            support.run("python3", "-m", "zipfile", "-e", path, root)
        roots.append(root)
    lines = support.run("diff", "-rq", *roots, check=False).stdout
    listed = [support.run("dpkg-deb", "-c", path, check=False).stdout for path in (first, second)]
    return lines + ("" if listed[0] == listed[1] else "other times, owners or modes of members\n")


class Reproducible(unittest.TestCase):
    def test_TwoBuilds_HaveTheSameBytes(self):
        support.require("git", "dpkg-shlibdeps", "dpkg-deb")
        if not (support.SOURCE / "build/venv/bin/auditwheel").exists():
            support.skip("build/venv has no auditwheel: run tests/interop/environment")
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            # The command names its commit, and somebody may commit meanwhile.
            commit = last_commit()
            first = build(scratch / "first", commit, 0o022)
            time.sleep(2)  # zip counts in two seconds
            second = build(scratch / "second/of/another/length", commit, 0o027)
            self.assertEqual(set(first), set(second))
            self.assertTrue({"paraes", "libparaes.a"} < set(first), first)
            found = []
            for name in sorted(first):
                if first[name].read_bytes() == second[name].read_bytes():
                    print(f"same: {name}")
                    continue
                found.append(support.run("cmp", first[name], second[name], check=False).stdout)
                if name.endswith((".deb", ".whl")):
                    found.append(unpacked_differences(first[name], second[name], scratch))
            self.assertFalse(found, "\n".join(found))


if __name__ == "__main__":
    unittest.main()
