"""`python tests/mutants [NAME ...]`: rules of a teardown broken on purpose, one at a time; tests must notice each.

The rules are in `mutants.toml`. They are broken in a copy of the checkout below the target directory, which has a target
directory of its own, so neither the checkout nor its build results ever see a mutant. Exit status 0 only when every mutant was
caught or is explained.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench import Bench, Broken  # noqa: E402
from copy_of import copy_tree, link_dependencies  # noqa: E402

ROOT = HERE.parents[1]
# Each crate after those it depends on: a mutant is put back before the next crate is built.
PACKAGES = ["ebb-core", "ebb-store", "ebb-planner", "ebb-lock-keeper", "ebb-finalizer", "ebb-providers", "ebb-worker", "ebb-tests"]
FIELDS = {"name", "rule", "file", "old", "new", "test", "run", "explained"}


@dataclass(frozen=True)
class Mutant:
    """One rule and the change that breaks it."""

    name: str
    rule: str
    file: str
    old: str
    new: str
    test: str = ""
    run: str = ""
    explained: str = ""

    @property
    def command(self) -> str:
        """The Cargo command that has to fail."""
        return f"test {self.test}" if self.test else f"run {self.run}"

    @property
    def package(self) -> str:
        return self.command.split()[2]

    def applied(self, text: str) -> str:
        """The file's text with the rule broken."""
        if (found := text.count(self.old)) != 1:
            raise Broken(f"{self.file}: the text to replace stands there {found} times, not once; bring mutants.toml up to date")
        return text.replace(self.old, self.new)


def read(path: Path) -> list[Mutant]:
    """The mutants in the order in which they cost least."""
    entries = tomllib.loads(path.read_text())["mutant"]
    for entry in entries:
        if unknown := set(entry) - FIELDS:
            sys.exit(f"{path.name}: {entry.get('name')} has unknown fields: {', '.join(sorted(unknown))}")
    mutants = [Mutant(**entry) for entry in entries]
    names = [mutant.name for mutant in mutants]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"{path.name}: named twice: {', '.join(sorted(twice))}")
    return sorted(mutants, key=lambda m: (PACKAGES.index(m.package), m.command))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--revision", metavar="REV", help="of this commit, not of the checkout as it is")
    arguments = parser.parse_args()
    mutants = read(HERE / "mutants.toml")
    wanted = {name for names in arguments.names for name in names.replace(",", " ").split()}
    if unknown := wanted - {mutant.name for mutant in mutants}:
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}")
    mutants = [mutant for mutant in mutants if not wanted or mutant.name in wanted]

    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    place = target / "mutants"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_tree(ROOT, place / "tree", arguments.revision)
        link_dependencies(target, place / "target")
        return run(mutants, Bench(place / "tree", place / "target"))


def run(mutants: list[Mutant], bench: Bench) -> int:
    caught, survived, broken = 0, [], []
    width = max(len(mutant.name) for mutant in mutants)
    began = time.monotonic()
    for mutant in mutants:
        since = time.monotonic()
        try:
            bench.check_unbroken(mutant.command)
            noticed = bench.noticed(mutant)
        except Broken as why:
            broken.append(mutant.name)
            word, noticed = "BROKEN", str(why)
        else:
            if noticed:
                caught += 1
            elif not mutant.explained:
                survived.append(mutant.name)
            word = "caught" if noticed else "explained" if mutant.explained else "SURVIVED"
        text = noticed or mutant.explained or f"{mutant.rule} ({mutant.file}; cargo {mutant.command})"
        print(f"{word:<9} {mutant.name:<{width}} {time.monotonic() - since:>5.0f} s  {text}", flush=True)
    if broken:
        print(f"\ncould not be tried: {', '.join(broken)}")
    if survived:
        print(f"\nno test notices: {', '.join(survived)}")
    print(f"\n{(time.monotonic() - began) / 60:.1f} min")
    print(f"{len(mutants)} mutants, {caught} caught, {len(survived)} survived")
    return 1 if survived or broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
