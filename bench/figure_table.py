"""The table of bench/figures: figures, and which goals they reach."""

from scripts import Failed


class Table:
    def __init__(self):
        self.lines = []

    def add(self, figure, goal, measure, unit="x"):
        """Add a line. `measure` returns (value, where) or raises Failed. Ratios, of unit x, reach
        their goal from below, and others from above."""
        value = reached = None
        try:
            value, where = measure()
            if goal is not None:
                reached = value >= goal if unit == "x" else value <= goal
        except Failed as missing:
            where = str(missing)
        self.lines.append({"figure": figure, "goal": goal, "unit": unit, "measured": value,
                           "where": where, "reached": reached})

    def text(self):
        width = max(len(line["figure"]) for line in self.lines)
        out = [f"{'figure':<{width}}  {'goal':>7}  {'measured':>8}  reached"]
        for line in self.lines:
            at_most = line["unit"] != "x"
            goal = "-" if line["goal"] is None else f"{'<' if at_most else '≥'} {line['goal']:g}"
            if line["measured"] is None:
                measured, reached = "-", f"not measured: {line['where']}"
            else:
                digits = {"x": 2, "ms": 1}.get(line["unit"], 0)
                measured = f"{line['measured']:.{digits}f}"
                reached = {True: "yes", False: "NO", None: "-"}[line["reached"]]
                reached += f" ({line['where']})"
            out.append(f"{line['figure']:<{width}}  {goal:>7}  {measured:>8}  {reached}")
        return "\n".join(out)


class Measured:
    """What make() returned, or why it raised Failed; each of its figures is a line of a table."""

    def __init__(self, table, make):
        self.table = table
        self.result = self.failure = None
        try:
            self.result = make()
        except Failed as missing:
            self.failure = missing

    def add(self, figure, goal, compute, *arguments, unit="x", **axes):
        """Add a line. `compute` gets the result and the rest, and returns (value, where) or raises
        Failed."""
        def measure():
            if self.failure is not None:
                raise self.failure
            return compute(self.result, *arguments, **axes)
        self.table.add(figure, goal, measure, unit)
