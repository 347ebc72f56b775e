"""Installs a build into scratch folders. The manifests go there, too, because those in the build
folder tell `uninstall` what the user has installed."""

import os
import pathlib
import re
import subprocess
import tempfile

NEEDED = (
    r"libcrypto\.so\.\d+|libstdc\+\+\.so\.6|libgcc_s\.so\.1|lib(c|m|dl|pthread)\.so\.\d|ld-linux.*"
)


def run(*command, environment=None, status=0, folder=None):
    """Runs a command, which must end with `status`, and returns what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        text=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != status:
        words = " ".join(str(word) for word in command)
        raise AssertionError(f"{words}: status {done.returncode}:\n{done.stdout}")
    return done.stdout


def install(build, prefix, manifests=None, component=None, environment=None):
    """As `cmake --install build --prefix prefix`, but the manifest is written to `manifests`."""
    if manifests is None:
        with tempfile.TemporaryDirectory(prefix="paraes-manifest-") as folder:
            install(build, prefix, folder, component, environment)
        return
    script = (pathlib.Path(build) / "cmake_install.cmake").read_text(encoding="utf-8")
    name = "/${CMAKE_INSTALL_MANIFEST}"
    if script.count(f"{build}{name}") != 1:
        raise AssertionError(f"{build}/cmake_install.cmake does not name its manifest as expected")
    copy = pathlib.Path(manifests) / "cmake_install.cmake"
    copy.write_text(script.replace(f"{build}{name}", f"{manifests}{name}"), encoding="utf-8")
    options = [f"-DCMAKE_INSTALL_PREFIX={prefix}"]
    if component:
        options.append(f"-DCMAKE_INSTALL_COMPONENT={component}")
    run("cmake", *options, "-P", copy, environment=environment)


def configure(source, build, *options, status=0):
    """Configures a project with the compiler of the tested build."""
    compiler = f"-DCMAKE_CXX_COMPILER={os.environ['PARAES_CXX']}"
    return run("cmake", "-G", "Ninja", "-S", source, "-B", build, compiler, *options, status=status)


def files_below(folder):
    """The paths of all files and links below a folder, relative to it."""
    found = set()
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        found |= {os.path.relpath(os.path.join(parent, name), folder) for name in names + links}
    return found


def exported(library, *options):
    """The symbols of a shared library and their versions."""
    nm = [os.environ.get("PARAES_NM", "nm"), "--dynamic", "--defined-only", *options]
    found = {}
    for line in run(*nm, library, environment={"LC_ALL": "C"}).splitlines():
        _, kind, symbol = line.split(" ", 2)
        if kind != "A":  # the name of the version itself
            name, _, version = symbol.partition("@@")
            found[name] = version
    return found


def check_needed(case, dynamic):
    """Checks in the dynamic section of a library that it needs libcrypto and what systems have."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    case.assertEqual([name for name in needed if not re.fullmatch(NEEDED, name)], [])
    case.assertTrue(any(name.startswith("libcrypto") for name in needed))
