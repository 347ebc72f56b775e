"""The site that docs/site builds from the documents and from the comments of the sources."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "packaging/site"))

import build  # noqa: E402
import check  # noqa: E402
import interfaces  # noqa: E402
import python_pages  # noqa: E402
import stage  # noqa: E402

# What the compiler makes.
UNSEEN = re.compile(r"(typeinfo|vtable|guard variable|(non-)?virtual thunk|construction vtable)\b")


def run(*command, **options):
    """The finished process; what it prints is one text."""
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


class Site(unittest.TestCase):
    """Builds the site once. That fails for a bad link, and for a page that is not in it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paraes-site-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.site = pathlib.Path(cls.folder.name, "site")
        cls.others = pathlib.Path(cls.folder.name, "site-work/documents/mine.md")
        cls.others.parent.mkdir(parents=True)
        cls.others.write_text("text")
        built = run(sys.executable, "-B", TREE / "docs/site", cls.site)
        if built.returncode != 0:
            raise AssertionError(built.stdout)
        cls.pages = {
            path.relative_to(cls.site).as_posix(): check.Page(path.read_text(encoding="utf-8"))
            for path in cls.site.rglob("*.html")
        }

    def anchors(self, folder):
        return {
            anchor
            for name, page in self.pages.items()
            if name.startswith(folder)
            for anchor in page.anchors
        }

    def test_nothing_else_is_written_or_removed(self):
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["site", "site-work"])
        self.assertEqual(self.others.read_text(), "text")
        self.assertEqual(os.listdir(self.others.parents[1]), ["documents"])

    def test_every_document_is_a_page(self):
        documents = [path.relative_to(TREE) for path in (TREE / "docs").rglob("*.md")]
        self.assertGreater(len(documents), 50)
        for path in documents:
            place = stage.place_of(path).removesuffix("README.md").removesuffix(".md")
            name = f"{place}index.html" if not place or place.endswith("/") else f"{place}.html"
            self.assertIn(name, self.pages)

    def test_every_exported_name_of_cpp_has_an_entry(self):
        cpp, _ = build.headers_of(TREE)
        hidden = {name.replace("::", ".") for name in interfaces.private_names(cpp)}
        anchors = self.anchors("api/cpp/")
        lines = (TREE / "tests/install/symbols.txt").read_text(encoding="utf-8").splitlines()
        names = set()
        for line in lines:
            name = re.match(r"(?:[\w:<>*&, ]+ )?paraes((?:::\w+)+)(?:\[abi:cxx11\])?\(", line)
            if UNSEEN.match(line) or not name:
                continue
            parts = name[1].removeprefix("::").split("::")
            if parts[0] in ("detail", "calls") or len(parts) > 1 and parts[-1] == parts[-2]:
                continue
            names.add(".".join(parts))
        self.assertGreater(len(names), 250)
        lacking = {
            name
            for name in names
            if name not in anchors and name not in hidden and not interfaces.is_unseen(cpp, name)
        }
        self.assertEqual(sorted(lacking), [])

    def test_every_function_of_c_has_an_entry(self):
        anchors = self.anchors("api/c.html")
        text = (TREE / "tests/install/libparaes-c.abi").read_text(encoding="utf-8")
        names = re.findall(r"<elf-symbol name='(paraes_\w+)'", text)
        self.assertGreater(len(names), 80)
        self.assertEqual([name for name in names if name not in anchors], [])

    def test_every_exported_name_of_python_has_an_entry(self):
        count = 0
        for module in python_pages.MODULES:
            anchors = self.anchors(f"api/python/{'index' if module == 'paraes' else module}.html")
            path = TREE / "python" / module.replace(".", "/")
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if module == "paraes.files":
                continue  # paraes has what it exports
            listed = re.search(r"^__all__ = \[(.*?)\]", path.read_text(), re.MULTILINE | re.DOTALL)
            for name in re.findall(r'"(\w+)"', listed[1]):
                if (path.parent / f"{name}.py").exists():
                    continue  # a module with a page of its own
                count += 1
                self.assertIn(f"{module}.{name}", anchors)
        self.assertGreater(count, 40)

    def test_search_knows_names_of_every_language(self):
        index = (self.site / "search/search_index.js").read_text(encoding="utf-8")
        for name in (
            "SegmentCipher",
            "paraes_gcm_encrypt_into",
            "EncryptedWriter",
            "--allow-leaky",
        ):
            self.assertIn(name, index)

    def test_each_page_is_in_one_of_the_kinds(self):
        home = (self.site / "index.html").read_text(encoding="utf-8")
        tabs = re.findall(r'class="md-tabs__link">\s*(?:<[^>]*>\s*)*([^<]*?)\s*<', home)
        self.assertEqual(
            tabs, ["Home", "Tutorials", "How-to", "Reference", "Explanation", "Change it"]
        )


class Faults(unittest.TestCase):
    """What the build has to refuse."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paraes-site-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name, "tree")
        (self.tree / "docs").mkdir(parents=True)
        (self.tree / "site").mkdir()

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def faults_of(self, **pages):
        for name, text in pages.items():
            self.write(f"site/{name}.html", text)
        return check.faults(self.tree / "site")

    def test_links(self):
        self.assertEqual(len(self.faults_of()), 1)  # no pages
        for link, faults in (
            ("b.html#y", []),
            ("c.html", ["a.html: c.html does not exist"]),
            ("b.html#z", ["a.html: b.html#z has no such anchor"]),
        ):
            found = self.faults_of(a=f'<p id="x"><a href="{link}">', b='<p id="y">')
            self.assertEqual(found, faults)

    def test_what_comes_from_elsewhere(self):
        for text in (
            '<script src="https://a.example/b.js"></script>',
            '<img src="//a.example/b.png">',
            '<link rel="stylesheet" href="https://a.example/b.css">',
            '<link rel="preconnect" href="https://a.example">',
            '<style>@import "https://a.example/b.css";</style>',
            '<p style="background: url(https://a.example/b.png)">',
            '<script>fetch("https://a.example/b")</script>',
            '<video><track src="https://a.example/b.vtt"></video>',
        ):
            self.assertEqual(len(self.faults_of(a=text)), 1, text)
        self.assertEqual(self.faults_of(a='<a href="https://a.example/">'), [])

    def test_styles_and_scripts_that_fetch(self):
        self.faults_of(a="<p>")
        for name, text in (
            ("a.css", "p { background: url('https://a.example/b.png') }"),
            ("a.js", 'fetch("https://a.example/b")'),
        ):
            self.write(f"site/{name}", text)
            self.assertEqual(len(check.faults(self.tree / "site")), 1, name)
            (self.tree / "site" / name).unlink()

    def test_page_that_the_navigation_lacks(self):
        self.write("docs/README.md", "## Reference\n\n- [A](a.md)\n")
        self.write("docs/a.md", "# A\n")
        made = stage.Stage(self.tree, self.tree / "staged", {})
        self.assertEqual(stage.missing(made, stage.navigation(made)), [])
        self.write("docs/b.md", "# B\n")
        self.assertEqual(
            stage.missing(made, stage.navigation(made)),
            ["docs/README.md: no link leads to docs/b.md"],
        )

    def test_navigation_to_a_page_that_is_missing(self):
        self.write("docs/README.md", "## Reference\n\n- [A](a.md)\n")
        with self.assertRaises(stage.StageError):
            stage.navigation(stage.Stage(self.tree, self.tree / "staged", {}))

    def test_folder_of_somebody_else(self):
        self.write("other/sitemap.xml", "<urlset/>")
        for path in ("other", "other/sitemap.xml", "other/sitemap.xml/site"):
            done = run(sys.executable, "-B", TREE / "docs/site", self.tree / path)
            self.assertEqual(done.returncode, 1, path)
            self.assertRegex(done.stdout, "^site: .*\n$")
        self.assertTrue((self.tree / "other/sitemap.xml").exists())

    def test_full_disk(self):
        mount = """mount -t tmpfs -o size=$0 tmpfs disk || exit 99
"$@"
status=$?
ls -A disk
exit $status"""
        command = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", mount]
        (self.tree / "disk").mkdir()
        for size in ("16k", "700k"):  # of the Python package, and of the documents
            done = run(
                *command, size, sys.executable, TREE / "docs/site", "disk/s", cwd=self.tree
            )
            if done.returncode == 99 or done.stdout.startswith("unshare:"):
                self.skipTest("mounting a disk is not permitted")
            self.assertEqual(done.returncode, 1, done.stdout)
            # One line, and nothing on the disk.
            self.assertRegex(
                done.stdout, r"\Asite: .*/disk/s was not written: .*No space left.*\n\Z"
            )

    def test_killed_run(self):
        script = """
import os, sys
sys.path.insert(0, sys.argv[2])
import build
def killed(tree, work, output):
    (work / "site").mkdir()
    (work / "site/index.html").write_text("half")
    os.kill(os.getpid(), int(sys.argv[3]))
build.build = killed
build.main()
"""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for earlier in (False, True):
                with self.subTest(number=number, earlier=earlier):
                    if earlier:
                        self.write("out/site/index.html", "whole")
                    arguments = [self.tree / "out/site", TREE / "packaging/site", str(number)]
                    done = run(sys.executable, "-B", "-c", script, *arguments)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual((self.tree / "out/site").exists(), earlier)
                    if earlier:
                        self.assertEqual((self.tree / "out/site/index.html").read_text(), "whole")
                    names = {name for name in os.listdir(self.tree / "out") if name != "site"}
                    if number == signal.SIGKILL:
                        self.assertTrue(all(name.startswith(".site-") for name in names), names)
                    else:
                        self.assertEqual(done.returncode, 128 + number)
                        self.assertEqual(names, set())
                    shutil.rmtree(self.tree / "out")

    def test_earlier_site_stays_where_the_new_one_cannot_be(self):
        self.write("old/a.html", "old")
        self.write("new/a.html", "new")
        places = [self.tree / name for name in ("old", "new", "earlier")]
        with self.assertRaises(OSError):
            build.replace(places[0], self.tree / "missing", places[2])
        self.assertEqual((self.tree / "old/a.html").read_text(), "old")
        build.replace(*places)
        self.assertEqual((self.tree / "old/a.html").read_text(), "new")

    def test_listing_without_what_git_ignores(self):
        self.write(".gitignore", "*.o\n")
        self.write("docs/folder/a.txt", "text")
        (self.tree / "docs/folder/a.o").write_bytes(b"\xff\x00")
        subprocess.run(["git", "init", "-q", self.tree], check=True)
        made = stage.Stage(self.tree, self.tree / "staged", {})
        listing = self.tree / "staged" / made.listing(pathlib.PurePosixPath("docs/folder"))
        self.assertIn("`a.txt`", listing.read_text())
        self.assertNotIn("a.o", listing.read_text())

    def test_link_to_a_file_that_is_not_text(self):
        (self.tree / "docs/a.bin").write_bytes(b"\xff\x00")
        made = stage.Stage(self.tree, self.tree / "staged", {})
        with self.assertRaisesRegex(stage.StageError, "docs/a.bin is not text"):
            made.target(pathlib.PurePosixPath("docs/a.bin"), "docs/a.md")

    def test_link_out_of_the_sources(self):
        (self.tree.parent / "other.md").write_text("# Other\n")
        self.write("docs/a.md", "# A\n\n[other](../../other.md)\n")
        made = stage.Stage(self.tree, self.tree / "staged", {})
        made.page(pathlib.PurePosixPath("docs/a.md"))
        with self.assertRaisesRegex(stage.StageError, "docs/a.md: .* is not in the sources"):
            made.write_pages()

    def undocumented_in(self, name, text, language="cpp"):
        self.write(name, text)
        return interfaces.undocumented(interfaces.Header(self.tree / name, language, "page.md"))

    def test_function_without_a_comment(self):
        text = "// For tests.\nnamespace paraes {\n\n// Does it.\nvoid one();\n\nvoid two();\n}\n"
        self.assertEqual(self.undocumented_in("a.hpp", text), ["a.hpp: two()"])

    def test_member_without_a_comment(self):
        text = """// For tests.
namespace paraes {

// A class.
class PARAES_EXPORT A {
 public:
  A();
  void one();  // does it

  void two() const { three(); }

 private:
  void three();
};

}  // namespace paraes
"""
        self.assertEqual(self.undocumented_in("a.hpp", text), ["a.hpp: A::two()"])

    def test_function_of_c_without_a_comment(self):
        text = """/* For tests. */

/* Does it. */
PARAES_API int paraes_one(void);

PARAES_API int paraes_two(void);
"""
        self.assertEqual(self.undocumented_in("a.h", text, "c"), ["a.h: paraes_two()"])


if __name__ == "__main__":
    unittest.main()
