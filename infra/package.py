#!/usr/bin/env python3
"""Packs the functions' executables into zips that Lambda takes, and says what is in them.

    package.py 'DIR/{}' OUT [LEVEL]    one OUT/{name}.zip for each function, its executable named `bootstrap`; OUT/architecture holds their architecture

The architecture is read from the executables themselves, so what is deployed always matches what was built. An executable that needs a newer
C library than Lambda has would fail at its first start: that is said here.
"""
import pathlib
import re
import sys
import zipfile

FUNCTIONS = ("planner", "worker", "lock-keeper", "finalizer")
ARCHITECTURES = {62: "x86_64", 183: "arm64"}  # e_machine of an ELF header
GLIBC = 34  # provided.al2023 has glibc 2.34


def architecture(name, body):
    if body[:4] != b"\x7fELF":
        sys.exit(f"{name} is no Linux executable: install cargo-lambda and zig, they build one anywhere")
    return ARCHITECTURES[int.from_bytes(body[18:20], "little")]


def pack(path, body, level):
    """The same executable always gives the same zip, because the code's place in the bucket is named after its content."""
    entry = zipfile.ZipInfo("bootstrap", (2020, 1, 1, 0, 0, 0))
    entry.external_attr = 0o755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, body, compresslevel=level)


def main(pattern, out, level="9"):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    found, newest = set(), 0
    for name in FUNCTIONS:
        body = pathlib.Path(pattern.replace("{}", name)).read_bytes()
        found.add(architecture(name, body))
        newest = max([newest, *(int(v) for v in re.findall(rb"\0GLIBC_2\.(\d+)\0", body))])
        pack(out / f"{name}.zip", body, int(level))
        print(f"  {name:12} {(out / f'{name}.zip').stat().st_size / 1e6:6.1f} MB")
    if len(found) != 1:
        sys.exit(f"the functions were built for different architectures: {sorted(found)}")
    (out / "architecture").write_text(found.pop())
    print(f"zips for {(out / 'architecture').read_text()} in {out}")
    if newest > GLIBC:
        print(f"careful: built against glibc 2.{newest}, Lambda has 2.{GLIBC}, so these may not start there. Install cargo-lambda and zig and build again.")


if __name__ == "__main__":
    main(*sys.argv[1:])
