"""Throughput of log readers: ``python -m benchmarks.logs [runs]``.

Random runs of NetBill are written in every format, and read by a process for each: printed are events, events a second
of the processor, and the most memory that it took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cplc.logs.reading import FORMATS

_ROOT = Path(__file__).parents[1]
_ENDINGS = {"ocel": "jsonocel"}

_READS = """
import resource, sys
from pathlib import Path
from cplc.logs.reading import read
count = sum(1 for _ in read(Path(sys.argv[1]), sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"{sys.argv[2]:<6} {count:>10,} events  {count / used.ru_utime:>9,.0f} a second  {used.ru_maxrss // 1024:>4} MB")
"""


def main() -> None:
    runs = sys.argv[1] if len(sys.argv) > 1 else "3000"
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "log.jsonl")
        for form in FORMATS:
            path = Path(folder, f"log.{_ENDINGS.get(form, form)}")
            if form == "json":
                with lines.open(encoding="utf-8") as read, path.open("w", encoding="utf-8") as write:
                    write.writelines(("," if number else "[") + line for number, line in enumerate(read))
                    write.write("]")
            else:
                netbill = str(_ROOT / "examples" / "netbill.cpl")
                options = ["--runs", runs, "--steps", "40", "--seed", "1", "--format", "json", "--show", "0"]
                with Path(folder, "told.json").open("w", encoding="utf-8") as out:
                    command = [sys.executable, "-m", "cplc", "simulate", netbill, *options, "--log", str(path)]
                    subprocess.run(command, check=True, stdout=out)
            subprocess.run([sys.executable, "-c", _READS, str(path), form], check=True)


if __name__ == "__main__":
    main()
