"""What the README says is what the code says."""

from __future__ import annotations

import re

from app import ROOT

README = (ROOT / "README.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.replace("`", "").strip() for cell in row] for row in rows[2:]]


def test_the_table_of_endings_is_the_codes() -> None:
    source = (ROOT / "functions/core/src/ending.rs").read_text()
    rows = re.findall(r'Row\(Ending::\w+, "(\w+)", (\d+), "([^"]+)", "[^"]+"\)', source)
    assert len(rows) > 20
    assert [(name, code) for name, code, _ in rows] == [(name, code) for name, code, _ in table("How it ends")]
    for (name, _, meaning), (_, _, said) in zip(rows, table("How it ends")):
        assert said.startswith(meaning), name


def test_the_table_of_fields_is_the_codes() -> None:
    source = (ROOT / "functions/core/src/request.rs").read_text()
    fields = re.findall(r'"(\w+)"', source.split("const FIELDS")[1].split("];")[0])
    said = [name for row in table("The request") for name in row[0].split(", ")]
    assert sorted(said) == sorted(fields)


def test_every_command_and_every_file_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`?make ([a-z0-9]+)", README)) - {"test", "alone"} <= targets
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links and [link for link in links if not (ROOT / link).exists()] == []


def test_the_parameters_it_names_are_the_templates() -> None:
    template = (ROOT / "infra/template.yaml").read_text() + (ROOT / "infra/target-role.yaml").read_text()
    named = set(re.findall(r'["= ]([A-Z]\w+)=', README))
    assert named and {name for name in named if f"\n  {name}:\n" not in template} <= {"BUCKET", "PARAMS", "SCENARIO", "SUITE"}
