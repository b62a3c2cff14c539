"""The memory of the functions' processes while the bed keeps them warm."""

from __future__ import annotations

from pathlib import Path

from bed import Bed


def peaks(bed: Bed) -> dict[str, int]:
    """KiB by function: the most that any process of it has had in memory at once."""
    endpoint, found = bed.environment()["AWS_ENDPOINT_URL"], {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            pairs = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            status = (process / "status").read_text()
        except OSError:  # another one's, or over
            continue
        environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        name = environment.get("AWS_LAMBDA_FUNCTION_NAME", "")
        if environment.get("AWS_ENDPOINT_URL") != endpoint or not name.startswith("ebb-"):
            continue
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        function = name.removeprefix("ebb-")
        found[function] = max(found.get(function, 0), peak)
    return found
