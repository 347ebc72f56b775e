"""Runs the programs of packaging/ with the compiler and the ccache of the tested build."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The time of the last commit is not known in an archive of the sources.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
SOURCE = pathlib.Path(os.environ["PARAES_SOURCE"])
BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
PROJECT = (SOURCE / "CMakeLists.txt").read_text().split("project(")[1]
VERSION = re.search(r"VERSION (\S+)", PROJECT)[1]
SAME = [
    "CMAKE_CXX_COMPILER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "MPI_CXX_COMPILER",
    "MPIEXEC_EXECUTABLE",
]


def skip(reason):
    """Ends the test as skipped, or as failed where everything has to be installed."""
    print(reason)
    sys.exit(1 if os.environ.get("PARAES_REQUIRE_LAB") else 77)


def require(*programs):
    """Skips the test if one of the programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


def cache():
    """The variables of the build that the packages share with it."""
    text = (BUILD / "CMakeCache.txt").read_text()
    found = dict(re.findall(r"^(\w+):\w+=(.*)$", text, re.MULTILINE))
    return {name: found[name] for name in SAME if found.get(name)}


def without_network():
    """The command that runs another one where no network is; empty if it takes root."""
    command = ["unshare", "--net"]
    works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if works else []


def on_small_disk(pages, folder):
    """The start of a command that runs another one while `folder` is a new disk of so many pages,
    and then prints the names on that disk, which it forgets. None if mounting is not permitted."""
    script = f"""mount -t tmpfs -o size={4 * pages}k tmpfs "$0" || exit 99
"$@"
status=$?
ls -A "$0"
exit $status"""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        tried = [*command, "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
        if subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return [*command, "bash", "-c", script, folder]
    return None


def folder_of(test):
    """A new folder, which the test removes at its end."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def write_program(path, text):
    """Writes a script that can be run, and makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(*command, check=True, **options):
    """Returns the finished process; its output is one text."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done


def encrypt_and_decrypt(test, paraes, folder, environment=None):
    """Runs the command as its user would."""
    sample = folder / "sample"
    sample.write_bytes(os.urandom(3_000_001))
    for arguments in (
        ["keygen", "-o", "key"],
        ["encrypt", "--key-file", "key", "sample"],
        ["decrypt", "--key-file", "key", "-o", "again", "sample.paes"],
    ):
        run(paraes, *arguments, cwd=folder, env=environment)
    test.assertEqual((folder / "again").read_bytes(), sample.read_bytes())
    test.assertNotIn(sample.read_bytes()[:64], (folder / "sample.paes").read_bytes())


def path_of_the_build(tree):
    """What finds files and folders of a source tree by their paths in bytes. The path of the tree
    alone says nothing: where it is /paraes, /usr/include/paraes ends like it."""
    path = re.escape(str(tree).encode())
    return re.compile(path + rb"/(?:bench|build|cli|include|mpi|src)(?![\w.-])")
