"""Start time and memory of each function against a bare one: spawn to first answer, with a Runtime API on 127.0.0.1.

    python tests/start [folder of the binaries] [starts]

Default: the release profile's folder under CARGO_TARGET_DIR. Writes bench/start.json under the target directory. The
event is one that every function refuses without reaching AWS, so that what is measured is the start and not the network.
Binaries start from a warm page cache: Lambda's own download of the code comes on top.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "infra"))

from package import pack  # noqa: E402

FUNCTIONS = ("bare", "planner", "worker", "lock-keeper", "finalizer")
# One bundle of trusted roots, as Amazon Linux has it. Where there are only single files, as some machines keep them as well, a start
# takes some milliseconds longer.
BUNDLES = ("/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt")
# No function knows this action.
EVENT = json.dumps({"action": "none"}).encode()
LONGEST = 30.0


class RuntimeApi(ThreadingHTTPServer):
    """One invocation, then silence: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked = threading.Lock()
        self.answered = threading.Event()
        self.closed = threading.Event()

    def handle_error(self, *_):
        """The function is killed with its connection open."""


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not self.server.asked.acquire(blocking=False):
            self.server.closed.wait(LONGEST)  # the next invocation never comes
            return
        self.send_response(200)
        for name, value in {
            "Lambda-Runtime-Aws-Request-Id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
            "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 60_000),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:ebb-bench",
            "Content-Type": "application/json",
            "Content-Length": str(len(EVENT)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(EVENT)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.answered.set()
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start(binary):
    """Milliseconds from spawn to the first answer, and the resident memory then, in KiB."""
    with RuntimeApi() as api:
        threading.Thread(target=api.serve_forever, daemon=True).start()
        environment = {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": "ebb-bench",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "EBB_APP": "ebb",
        }
        environment |= {"SSL_CERT_FILE": bundle for bundle in BUNDLES if Path(bundle).exists()}
        began = time.perf_counter()
        process = subprocess.Popen([binary], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not api.answered.wait(LONGEST):
                raise SystemExit(f"{binary}: no answer within {LONGEST:.0f} s (exit status {process.poll()})")
            took = (time.perf_counter() - began) * 1000
            return took, peak(process.pid)
        finally:
            api.closed.set()
            process.kill()
            process.wait()
            api.shutdown()


def peak(pid):
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def zip_size(binary):
    """Bytes of the zip that would be deployed."""
    with tempfile.NamedTemporaryFile() as packed:
        pack(packed.name, binary.read_bytes(), 9)
        return Path(packed.name).stat().st_size


def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else target / "release"
    starts = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if missing := [name for name in FUNCTIONS if not (folder / name).exists()]:
        raise SystemExit(f"start: {', '.join(missing)} not built in {folder}")
    # A zip of a development build is of no use to anybody, and takes long.
    optimised = folder.name != "debug"
    measured = {"folder": folder.name, "starts": starts}
    print(f"{'function':<12} {'start p50':>10} {'p90':>8} {'memory':>10} {'binary':>10} {'zip':>10}")
    for name in FUNCTIONS:
        binary = folder / name
        runs = sorted(start(binary) for _ in range(starts))
        times, memory = [took for took, _ in runs], max(kib for _, kib in runs)
        p50, p90 = statistics.median(times), times[int((len(times) - 1) * 0.9)]
        size, zipped = binary.stat().st_size, zip_size(binary) if optimised and name != "bare" else 0
        key = name.replace("-", "_")
        measured |= {f"start_ms_{key}": round(p50, 1), f"start_ms_p90_{key}": round(p90, 1), f"peak_kib_{key}": memory}
        measured |= {f"binary_bytes_{key}": size} | ({f"zip_bytes_{key}": zipped} if zipped else {})
        print(f"{name:<12} {p50:>7.1f} ms {p90:>5.1f} ms {memory:>6} KiB {size:>10} {zipped:>10}")
    (target / "bench").mkdir(parents=True, exist_ok=True)
    (target / "bench" / "start.json").write_text(json.dumps(measured, indent=2) + "\n")


main()
