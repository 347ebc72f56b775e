"""Render the report as one self-contained HTML page; `svg` draws its figures."""

from paraes.lab.report.page import render

__all__ = ["render"]
