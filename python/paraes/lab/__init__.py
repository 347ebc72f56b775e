"""The laboratory: turns bench JSON into tables and plots.

`paraes bench` encrypts, measures and writes JSON; this package runs it and works on that JSON only.
Start with `bench` (reading), `scaling` and `crossover` (analysis),
`reproduce` and `papers` (the experiments of the papers), `report` and `export` (output).
"""
