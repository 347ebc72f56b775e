"""A copy of the committed sources with a build folder of its own, in which tests change files.

It uses build/vectors and the Python packages of build/venv, but its own paraes, whose module is
built there.
"""

import dataclasses
import io
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
# A change may make a test wait for ever: it ends after so many seconds, and so many times what it
# took before.
LEAST_LIMIT_S = 120
LIMIT_FACTOR = 10
UNKNOWN_S = 120  # of a test that was not run before
ENDLESS = " (endless)"  # behind the name of a test that did not end


def fetch():
    """Get what the tests use: nothing if it is there. The copy's environment takes names and data
    of the installed package."""
    for command in (["tests/fetch_vectors"], ["tests/interop/environment"]):
        if subprocess.run([sys.executable, *command], cwd=TREE).returncode != 0:
            sys.exit(f"tests: {command[0]} failed")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=TREE, check=True, stdout=subprocess.PIPE).stdout


def archived(commit, *paths):
    """Return {path: (content, mode)} of a commit's files; a link's content is its target."""
    files = {}
    packed = io.BytesIO(git("archive", "--format=tar", commit, *paths))
    with tarfile.open(fileobj=packed) as archive:
        for member in archive:
            if member.issym():
                files[member.name] = (member.linkname, None)
            elif member.isfile():
                files[member.name] = (archive.extractfile(member).read(), member.mode & 0o755)
    return files


def tiers():
    """Return of tests/tiers.bash the regular expressions of `long` and of what `ci` adds, and the
    environment of tests."""
    script = 'source tests/tiers.bash && require && export long later && env -0'
    said = subprocess.run(["bash", "-c", script], cwd=TREE, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    environment = dict(line.split("=", 1) for line in said.split("\0") if line)
    return environment.pop("long"), environment.pop("later"), environment


@dataclasses.dataclass
class Tests:
    """What a run of ctest said."""

    failed: list
    not_built: list
    passed: int
    in_time: bool


def ended(said):
    """Return (name, state, seconds) of each test that ctest says has ended."""
    found = re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.* *(.*?) +([\d.]+) sec", said, re.MULTILINE)
    return [(name, state, float(seconds)) for name, state, seconds in found]


def running(said):
    """Return the names of the tests that ctest has started and that have not ended."""
    over = {name for name, _, _ in ended(said)}
    return [name for name in re.findall(r"^ *Start +\d+: (\S+)$", said, re.MULTILINE)
            if name not in over]


class Copy:
    """The copied sources, their build folder and the Python environment of their tests."""

    def __init__(self, folder, log):
        self.root = folder
        self.build_folder = folder / "build/release"
        self.log = log
        self.jobs = str(len(os.sched_getaffinity(0)))
        self.long, self.later, environment = tiers()
        self.seconds = {}  # of each test, where nothing was changed
        self.unknown_s = UNKNOWN_S
        self.left_out = []  # tests that are not run
        self.environment = {
            **environment,
            "CCACHE_BASEDIR": str(folder), "CCACHE_DEPEND": "1", "CCACHE_NOHASHDIR": "1",
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
            "XDG_CACHE_HOME": str(folder / "build/cache")}
        self.environment.setdefault("CCACHE_DIR", str(TREE / "build/ccache"))
        # The tests of the first tier, as they run there: `long` sets this for its own.
        self.environment.pop("PARAES_LONG", None)

    def update(self, files):
        """Make the copy equal to `files`. Unchanged files keep their time, for Ninja."""
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root)
            if name.parts[0] != "build" and not path.is_dir() and str(name) not in files:
                path.unlink()
        for name, (content, mode) in files.items():
            path = self.root / name
            if mode is None:
                if not path.is_symlink() or os.readlink(path) != content:
                    path.unlink(missing_ok=True)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.symlink_to(content)
            elif not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(mode)

    def prepare(self):
        build = self.root / "build"
        build.mkdir(exist_ok=True)
        (build / "cache").mkdir(exist_ok=True)
        if not (build / "vectors").exists():
            (build / "vectors").symlink_to(TREE / "build/vectors")
        self.make_environment(build / "venv", (TREE / "build/venv").resolve())
        options = ["-DPARAES_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={build / 'venv/bin/python'}"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        if shutil.which("mpicxx.openmpi") and shutil.which("mpirun.openmpi"):
            options += ["-DMPI_CXX_COMPILER=mpicxx.openmpi", "-DMPIEXEC_EXECUTABLE=mpirun.openmpi"]
        if self.logged(["cmake", "--preset", "release", *options]) != 0:
            sys.exit(f"tests: cannot configure the copy: see {self.log}")

    def make_environment(self, environment, installed):
        """Make a Python with the packages of `installed`, but the paraes that is built here."""
        if not (environment / "pyvenv.cfg").is_file():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        packages = next(environment.glob("lib/python3*/site-packages"))
        others = next(installed.glob("lib/python3*/site-packages"))
        (packages / "others.pth").write_text(f"import site; site.addsitedir({str(others)!r})\n")
        module = next((others / "paraes").glob("_native.*.so")).name
        for folder in (packages / "paraes", packages / "paraes-0.dist-info"):
            shutil.rmtree(folder, ignore_errors=True)
        (packages / "paraes").mkdir()
        for file in (self.root / "python/paraes").iterdir():
            (packages / "paraes" / file.name).symlink_to(file)
        # Where the module is built, now and before the build made its types.
        lists = (self.root / "python/CMakeLists.txt").read_text(encoding="utf-8")
        built = "python/package/paraes" if "LIBRARY_OUTPUT_DIRECTORY" in lists else "python"
        (packages / "paraes" / module).symlink_to(self.build_folder / built / module)
        # Names the command, for `python -m paraes`.
        shutil.copytree(next(others.glob("paraes-*.dist-info")), packages / "paraes-0.dist-info")
        command = environment / "bin/paraes"
        command.unlink(missing_ok=True)
        command.symlink_to(self.build_folder / "cli/paraes")
        lab = environment / "bin/paraes-lab"
        lab.write_text(f"#!{environment / 'bin/python'}\nimport sys\n"
                       "from paraes.lab.cli import main\nsys.exit(main())\n")
        lab.chmod(0o755)
        for stamp in installed.glob("installed-*"):
            shutil.copy(stamp, environment)

    def logged(self, command, gives_up=lambda: False):
        """Run a command and return its exit status, or None if `gives_up` has ended it."""
        with self.log.open("a", encoding="utf-8") as log:
            print("$", *command, file=log, flush=True)
            process = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                while not gives_up():
                    try:
                        return process.wait(1)
                    except subprocess.TimeoutExpired:
                        pass
                return None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def build(self, targets):
        return self.logged(["cmake", "--build", str(self.build_folder), "--parallel", self.jobs,
                            "--target", *sorted(targets)]) == 0

    def selected(self, tests, tier, but=""):
        """The arguments of ctest for tests of a tier, without those of the expression `but`."""
        without = [self.later, self.long] if tier == "test" else [self.long]
        without += ["_NOT_BUILT$", *([but] if but else []),
                    *(f"^{re.escape(name)}$" for name in self.left_out)]
        return ["--test-dir", str(self.build_folder), "-R", tests, "-E", "|".join(without)]

    def limit_s(self, name):
        """After how many seconds a test counts as endless."""
        return max(LEAST_LIMIT_S, LIMIT_FACTOR * self.seconds.get(name, self.unknown_s))

    def test(self, tests, *, tier, but="", unchanged=False, within_s=math.inf):
        """Run tests: all if the sources are unchanged, otherwise until one fails or time ends."""
        start = self.log.stat().st_size
        end = time.monotonic() + within_s
        first_seen = {}
        endless = []
        late = False

        def said():
            return self.log.read_bytes()[start:].decode(errors="replace")

        def gives_up():
            nonlocal late
            now = time.monotonic()
            for name in running(said()):
                limit = LIMIT_FACTOR * UNKNOWN_S if unchanged else self.limit_s(name)
                if now - first_seen.setdefault(name, now) > limit:
                    endless.append(name)
            late = now > end
            return endless or late

        status = self.logged(
            ["ctest", "--output-on-failure", "-j", self.jobs, "--no-tests=error",
             *([] if unchanged else ["--stop-on-failure"]), *self.selected(tests, tier, but)],
            gives_up)
        done = ended(said())
        failed = [name for name, state, _ in done
                  if re.match(r"\*\*\*(Failed|Timeout|Exception)", state)]
        failed += [name + ENDLESS for name in endless]
        not_built = [name for name, state, _ in done if "***Not Run" in state]
        if not late and not failed and not not_built and (not done or status != 0):
            sys.exit(f"tests: ctest did not work: see {self.log}")
        if unchanged:
            self.seconds.update({name: seconds for name, _, seconds in done})
        return Tests(failed, not_built, sum(state == "Passed" for _, state, _ in done), not late)
