"""The report as one self-contained HTML page: `page` makes it, `svg` draws its figures."""

from paraes.lab.report.page import render

__all__ = ["render"]
