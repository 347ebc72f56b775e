"""Render the report as one self-contained HTML page."""

from paraes.lab.report.page import render

__all__ = ["render"]
