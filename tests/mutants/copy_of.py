"""The copy of the checkout that mutants live in, and a target directory for it that need not compile the dependencies again."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path


def copy_tree(root: Path, tree: Path, revision: str | None) -> None:
    """Makes `tree` the checkout's files, or a commit's. What is the same keeps its time, so Cargo builds only what changed."""
    files = _of_commit(root, revision) if revision else _of_checkout(root)
    for name, body in files.items():
        path = tree / name
        if path.is_file() and path.read_bytes() == body:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if str(path.relative_to(tree)) not in files:
            path.unlink()


def _of_checkout(root: Path) -> dict[str, bytes]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name: (root / name).read_bytes() for name in names if name and (root / name).is_file()}


def _of_commit(root: Path, revision: str) -> dict[str, bytes]:
    archive = subprocess.run(["git", "archive", revision], cwd=root, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def link_dependencies(target: Path, mutants: Path) -> None:
    """Takes what the checkout's own builds have compiled of other people's crates. Libraries are linked, because Cargo and rustc
    replace them and never write into them; everything else is copied. Our own crates are of another path here, and so new."""
    source, place = target / "debug", mutants / "debug"
    for part in ("deps", ".fingerprint", "build"):
        (place / part).mkdir(parents=True, exist_ok=True)
    if not (source / "deps").is_dir():
        return
    for entry in os.scandir(source / "deps"):
        to = place / "deps" / entry.name
        if to.exists() or entry.name.removeprefix("lib").startswith("ebb_"):
            continue
        if to.suffix in (".rlib", ".rmeta", ".so", ".dylib"):
            _link(entry.path, to)
        elif to.suffix == ".d":
            shutil.copy2(entry.path, to)
    for part in (".fingerprint", "build"):
        if not (source / part).is_dir():
            continue
        for entry in os.scandir(source / part):
            to = place / part / entry.name
            if not to.exists() and not entry.name.startswith("ebb-"):
                shutil.copytree(entry.path, to)
    for name in (".rustc_info.json", "CACHEDIR.TAG"):
        if (target / name).is_file() and not (mutants / name).exists():
            shutil.copy2(target / name, mutants / name)


def _link(source: str, to: Path) -> None:
    try:
        os.link(source, to)
    except OSError:
        # Another file system, or one without links.
        shutil.copy2(source, to)
