"""The laboratory: bench JSON in, tables and plots out.

Nothing here encrypts or takes a time. `paraes bench` does, and writes JSON; every module of this
package works on that JSON. Start with `bench` (reading), `scaling` and `crossover` (analysis),
`reproduce` and `papers` (the experiments of the papers), `report` and `export` (output).
"""
