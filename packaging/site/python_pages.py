"""The pages of the Python reference: mkdocstrings reads the modules, without importing them."""

import pathlib
import shutil

HERE = pathlib.Path(__file__).resolve().parent
MODULES = (
    "paraes",
    "paraes.files",
    "paraes.ciphers",
    "paraes.exceptions",
    "paraes.gpu",
    "paraes.safetensors",
    "paraes.safetensors.numpy",
    "paraes.safetensors.torch",
    "paraes.fsspec",
    "paraes.zarr",
    "paraes.objects",
)
FOLDER = "api/python"
# What paraes shows already is not described twice.
OPTIONS = {
    "paraes.files": """    options:
      filters: ["!^_"]
      members: [Where, MessageOptions, SealOptions, OpenSecret, OpenOptions, LoadOptions,
                SealFileOptions, OpenFileOptions, RekeyOptions, Path, Progress]
""",
}


def copy_package(tree, output):
    """The package as griffe reads it: its modules, and the stub of the native one."""
    shutil.copytree(
        tree / "python/paraes",
        output / "paraes",
        ignore=shutil.ignore_patterns("lab", "__pycache__"),
    )
    shutil.copy(tree / "python/native/_native.pyi", output / "paraes/_native.pyi")


def write_pages(stage):
    """Writes the pages, and returns their part of the navigation."""
    shown = []
    for module in MODULES:
        place = f"{FOLDER}/{'index' if module == 'paraes' else module}.md"
        stage.write(place, f"# {module}\n\n::: {module}\n{OPTIONS.get(module, '')}")
        shown.append(place if module == "paraes" else {module: place})
    return shown


def plugin(sources):
    """The configuration of mkdocstrings, where it is not the default."""
    return {
        "mkdocstrings": {
            "default_handler": "python",
            "handlers": {
                "python": {
                    "paths": [str(sources)],
                    "load_external_modules": False,
                    "options": {
                        "docstring_style": None,
                        "extensions": [str(HERE / "docstrings.py")],
                        "filters": "public",
                        "group_by_category": False,
                        "line_length": 76,
                        "members_order": "source",
                        "merge_init_into_class": True,
                        "separate_signature": True,
                        "show_if_no_docstring": True,
                        "show_labels": False,
                        "show_root_toc_entry": False,
                        "show_root_full_path": False,
                        "show_signature_annotations": True,
                        "show_source": False,
                        "show_symbol_type_heading": True,
                        "signature_crossrefs": True,
                        "summary": False,
                    },
                }
            },
        }
    }


def undocumented(sources):
    """What the modules export, and methods of such classes, without a docstring."""
    import griffe

    package = griffe.load("paraes", search_paths=[str(sources)], allow_inspection=False)
    found = []
    for module in MODULES:
        here = package if module == "paraes" else package[module.removeprefix("paraes.")]
        if not here.docstring:
            found.append(module)
        for export in here.exports or ():
            name = str(getattr(export, "name", export))
            item = here[name].final_target if here[name].is_alias else here[name]
            if item.is_attribute:
                continue
            if not item.docstring:
                found.append(f"{module}.{name}")
            if item.is_class and not item.bases:
                found += [
                    f"{module}.{name}.{member.name}"
                    for member in item.members.values()
                    if not member.name.startswith("_")
                    and not member.is_alias
                    and member.is_function
                    and not member.docstring
                ]
    return found
