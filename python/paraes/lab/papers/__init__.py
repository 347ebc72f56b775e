"""The papers' experiments: each has its numbers (JSON) and a module with axes, tables and figures.

docs/laboratory.md says how to add one.
"""

from __future__ import annotations

from types import ModuleType

from paraes.lab.papers import luken_2009, moreira_2026, pousa_2011, pousa_2014, soares, tybusch_2014
from paraes.lab.papers.data import NAMES

EXPERIMENTS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (moreira_2026, tybusch_2014, luken_2009, pousa_2011, pousa_2014, soares)
}
assert tuple(EXPERIMENTS) == NAMES
