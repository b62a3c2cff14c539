"""What Ebb and a Step Functions engine add to the AWS calls of a teardown: whole executions on the emulator's own engine, warm.

    python tests/overhead [folder of the binaries] [rounds]

Default: the release profile's folder under CARGO_TARGET_DIR, and the faster of two rounds. Prints a table and writes
bench/overhead.json under the target directory. What a number means is said in docs/performance.md.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import stacks  # noqa: E402
from bed import Bed, seed  # noqa: E402
from memory import peaks  # noqa: E402
from teardown import Measured, tear_down, trace  # noqa: E402

ROOT = HERE.parents[1]
SIZES = (50, 200, 500)
BINARIES = ("planner", "worker", "lock-keeper", "finalizer")


def main() -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else target / "release"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    if missing := [name for name in BINARIES if not (folder / name).exists()]:
        raise SystemExit(f"overhead: {', '.join(missing)} not built in {folder}")
    load = os.getloadavg()[0]
    with Bed(strict=False) as bed:
        seed.state_bucket(bed)
        outputs = bed.deploy(ROOT / "infra/template.yaml", {"MaxResources": "1000"}, folder)
        trace(bed)
        tear_down(bed, outputs, stacks.independent(bed, "Warm", 60))
        tear_down(bed, outputs, stacks.services(bed, "Hundred", 100))
        memory = peaks(bed)
        print(f"{'stack':<16} {'resources':>9} {'seconds':>8} {'AWS':>8} {'waited':>8} {'waves':>6} {'overhead':>10} {'a wave':>9} {'a resource':>11}")
        vpc = fastest(bed, outputs, "vpc mix", stacks.vpc_mix, rounds)
        wide = fastest(bed, outputs, "independent", lambda bed, name: stacks.independent(bed, name, 200), rounds)
        sized = {n: fastest(bed, outputs, f"services {n}", lambda bed, name, n=n: stacks.services(bed, name, n), rounds) for n in SIZES}
    measured: dict[str, object] = {
        "profile": folder.name, "rounds": rounds, "cpus": os.cpu_count(), "load_before": round(load, 2),
        "vpc_mix_seconds": round(vpc.seconds, 2), "vpc_mix_waited_seconds": round(vpc.waited_seconds, 2),
        "independent_200_seconds": round(wide.seconds, 2),
    }
    measured |= {f"peak_kib_warm_{name.replace('-', '_')}": kib for name, kib in sorted(memory.items())}
    print("\npeak memory, warm, with a stack of 100: " + ", ".join(f"{name} {kib} KiB" for name, kib in sorted(memory.items())))
    for size, one in sized.items():
        measured |= {f"seconds_{size}": round(one.seconds, 2), f"waves_{size}": one.waves,
                     f"overhead_ms_per_wave_{size}": round(one.overhead_ms / one.waves, 1),
                     f"overhead_ms_per_resource_{size}": round(one.overhead_ms / one.resources, 2)}
    small, large = sized[SIZES[0]], sized[SIZES[-1]]
    measured["overhead_per_resource_500_over_50"] = round(
        (large.overhead_ms / large.resources) / (small.overhead_ms / small.resources), 3)
    (target / "bench").mkdir(parents=True, exist_ok=True)
    (target / "bench" / "overhead.json").write_text(json.dumps(measured, indent=2) + "\n")


def fastest(bed: Bed, outputs: dict[str, str], title: str, make: stacks.Maker, rounds: int) -> Measured:
    """The fastest of so many teardowns, printed: other processes only add."""
    name = "".join(word.capitalize() for word in title.split())
    runs = [tear_down(bed, outputs, make(bed, f"{name}R{number}")) for number in range(rounds)]
    best = min(runs, key=lambda run: run.seconds)
    print(f"{title:<16} {best.resources:>9} {best.seconds:>8.2f} {best.aws_seconds:>8.2f} {best.waited_seconds:>8.2f} {best.waves:>6} "
          f"{best.overhead_ms:>7.0f} ms {best.overhead_ms / best.waves:>6.0f} ms {best.overhead_ms / best.resources:>8.1f} ms", flush=True)
    return best


main()
