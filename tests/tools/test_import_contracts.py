"""A circle of modules and a module with too many imports are found."""

from __future__ import annotations

from grimp import ImportGraph

from tools.import_contracts import FewImports, NoCircle


def graph(*imports: tuple[str, str]) -> ImportGraph:
    """The graph of pairs of importer and imported."""
    found = ImportGraph()
    for importer, imported in imports:
        found.add_import(importer=importer, imported=imported)
    return found


def contract(of: type[NoCircle | FewImports], **options: str) -> NoCircle | FewImports:
    """A contract as import-linter makes it."""
    return of(name="", session_options={}, contract_options=options)


def test_a_circle_is_found_and_a_shared_import_is_none() -> None:
    circles = contract(NoCircle)
    assert circles.check(graph(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")), False).kept
    found = circles.check(graph(("a", "b"), ("b", "c"), ("c", "b")), False)
    assert not found.kept
    assert set(found.metadata["circle"]) == {"b", "c"}


def test_a_module_with_too_many_imports_is_found_with_their_number() -> None:
    few = contract(FewImports, most="2")
    assert few.check(graph(("a", "b"), ("a", "c"), ("b", "c")), False).kept
    found = few.check(graph(("a", "b"), ("a", "c"), ("a", "d")), False)
    assert found.metadata["many"] == {"a": 3}
