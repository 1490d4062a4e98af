"""What authors need is public: the examples import nothing else."""

import ast
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.py"))
PUBLIC = {"veil", "veil.errors", "veil.perturbations", "veil.attacks", "veil.release"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_import_public_packages_only(path):
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    imports = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert "veil" in modules
    assert {name for name in modules if name.startswith("veil")} <= PUBLIC
