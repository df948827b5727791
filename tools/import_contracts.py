"""Contracts of import-linter on the modules of the front: no circle, and no module that imports too
many others.

Every import counts: at the top of a file, in a function, and for types only.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class NoCircle(Contract):
    """Contract: no module imports itself, directly or through others."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002  # the base's
        """Look for a circle."""
        imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
        try:
            TopologicalSorter(imported).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the circle."""
        output.print_error(" is imported by ".join(check.metadata["circle"]))


class FewImports(Contract):
    """Contract: no module imports more than `most` others."""

    most = fields.IntegerField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002  # the base's
        """Count the imports of each module."""
        found = {name: len(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
        most = cast("int", self.most)  # import-linter replaces the field by its value
        many = {name: count for name, count in sorted(found.items()) if count > most}
        return ContractCheck(kept=not many, metadata={"many": many})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the modules that break the contract, with the number of their imports."""
        for name, count in check.metadata["many"].items():
            output.print_error(f"{name} imports {count} modules, at most {self.most} are allowed")
