"""Builds the site: stages the documents, writes the references, and runs MkDocs.

    packaging/site/build.py OUTPUT

Runs in the virtual environment that docs/site makes.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import check
import interfaces
import python_pages
import stage as staging

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
CPP = "api/cpp"


def headers_of(tree):
    folder = tree / "include/paraes"
    cpp = [
        interfaces.Header(path, "cpp", f"{CPP}/{path.stem}.md")
        for path in sorted(folder.glob("*.hpp"))
        if path.name not in interfaces.LEFT_OUT
    ]
    return cpp, interfaces.Header(tree / "include/paraes.h", "c", "api/c.md")


def generated_places(cpp, c):
    places = {f"include/paraes/{header.name}": header.page for header in cpp}
    # These two have no page of their own.
    places |= {f"include/paraes/{name}": f"{CPP}/index.md" for name in interfaces.LEFT_OUT}
    places |= {
        "include/paraes": f"{CPP}/index.md",
        "include": f"{CPP}/index.md",
        "include/paraes.h": c.page,
    }
    return places


def write_interfaces(stage, cpp, c):
    lines = [
        "# C++ reference",
        "",
        "A page for each header of `include/paraes`, from its comments. "
        f"[How to use the library]({stage.relative(f'{CPP}/index.md', 'cpp.md')}) has examples.",
        "",
    ]
    for headers, language in ((cpp, "cpp"), ([c], "c")):
        names = interfaces.collect(headers)
        if language == "cpp":
            names.headers["paraes.h"] = c.page
        names.documents = {path.as_posix(): place for path, place in stage.pages.items()}
        for header in headers:
            page = interfaces.Page(header, names, stage.relative)
            stage.write(header.page, page.write())
            if language == "cpp":
                writer = interfaces.Writer(names, f"{CPP}/index.md", stage.relative)
                lines.append(
                    f"- [`{header.name}`]({header.path.stem}.md): {writer.inline(header.summary)}"
                )
    stage.write(f"{CPP}/index.md", "\n".join(lines) + "\n")
    return [
        {"C++ headers": [f"{CPP}/index.md", *({header.name: header.page} for header in cpp)]},
        {"C header": c.page},
    ]


def build(tree, work, output):
    """Makes the site in `work`, and puts it in the place of `output` if nothing is wrong."""
    site = work / "site"
    documents = work / "documents"
    shutil.copytree(HERE / "assets", documents / "assets")
    cpp, c = headers_of(tree)
    wrong = [found for header in [*cpp, c] for found in interfaces.undocumented(header)]
    python_pages.copy_package(tree, work / "python")
    wrong += python_pages.undocumented(work / "python")
    if wrong:
        raise staging.StageError("no comment describes:\n  " + "\n  ".join(wrong))

    stage = staging.Stage(tree, documents, generated_places(cpp, c))
    stage.page(pathlib.PurePosixPath("README.md"))
    stage.page(pathlib.PurePosixPath("docs/README.md"))
    sections = staging.navigation(stage)
    stage.write_pages()
    wrong = staging.missing(stage, sections)
    reference = next((name for name in sections if name.startswith("Reference")), None)
    if reference is None:
        wrong.append("docs/README.md: no section 'Reference'")
    if wrong:
        raise staging.StageError("\n".join(wrong))
    sections[reference] += write_interfaces(stage, cpp, c)
    sections[reference].append({"Python modules": python_pages.write_pages(stage)})

    # JSON is YAML, too.
    configuration = {
        "INHERIT": str(HERE / "mkdocs.yml"),
        "docs_dir": str(documents),
        "site_dir": str(site),
        "plugins": python_pages.plugin(work / "python"),
        "nav": [
            {"Home": ["index.md", {"All documents": "documents.md"}]},
            *({title: pages} for title, pages in sections.items()),
        ],
    }
    file = work / "mkdocs.yml"
    file.write_text(json.dumps(configuration, indent=1))
    # The theme says that its successor is another program: see docs/decisions/0067-the-site.md.
    environment = {**os.environ, "PYTHONPATH": str(HERE), "NO_MKDOCS_2_WARNING": "1"}
    made = subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "mkdocs",
            "build",
            "--quiet",
            "--strict",
            "--config-file",
            file,
        ],
        env=environment,
    )
    if made.returncode != 0:
        raise staging.StageError("mkdocs found the faults above")
    # Not for readers of the site.
    for left in site.rglob("*.map"):
        left.unlink()
    found = check.faults(site)
    if found:
        raise staging.StageError("\n".join(found))
    replace(output, site, work / "earlier")
    return len(list(output.rglob("*.html")))


def replace(output, site, earlier):
    """Puts `site` in the place of `output`, which is moved to `earlier` first, or stays."""
    if not output.exists():
        site.rename(output)
        return
    output.rename(earlier)
    try:
        site.rename(output)
    except OSError:
        earlier.rename(output)
        raise


def reason(error):
    """Why something failed, in a line: the copy of a folder has a list of all its files."""
    files = error.args[0] if isinstance(error, shutil.Error) else None
    return files[0][2] if isinstance(files, list) else error


def main():
    output = pathlib.Path(sys.argv[1]).resolve()
    # As with Ctrl-C, the folder of the work is removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # Beside the result, so that one can be renamed to the other.
        with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as work:
            pages = build(TREE, pathlib.Path(work), output)
    except (staging.StageError, interfaces.HeaderError) as error:
        sys.exit(f"site: {error}")
    except OSError as error:
        sys.exit(f"site: {output} was not written: {reason(error)}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    print(f"site: {pages} pages in {output}: open {output / 'index.html'}")


if __name__ == "__main__":
    main()
