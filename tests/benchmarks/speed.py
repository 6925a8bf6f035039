"""What one diagnosis costs on a tree: CPU seconds and memory, without a kept index and with one.

    python tests/benchmarks/speed.py TREE CASE.json… [--runs N]

Each figure is of a process of its own: the least of N runs (3). `start` is a process that only imports; cold and warm
contain it. `question` is what the warm process spends on diagnosis alone, the index being open.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

RECORDED = str(Path(__file__).parent.parent / "trees")

CHILD = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import msgspec
from recorded import Case
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree
began = before = time.process_time()
if len(sys.argv) > 2:
    case = msgspec.json.decode(open(sys.argv[3], "rb").read(), type=Case)
    index = open_index(open_tree(sys.argv[2]))
    before = time.process_time()
    diagnose(case.exchange, [index])
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "cpu": time.process_time() + children.ru_utime + children.ru_stime,
    "question": time.process_time() - before,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


class Cost(NamedTuple):
    cpu: float
    """Seconds of the whole process, its children among them."""
    question: float
    """Seconds of the diagnosis, the index being open."""
    memory: float
    """The most that was resident, in MB."""


def cost(cache: Path, *arguments: str) -> Cost:
    """What one process costs that keeps its index in this folder."""
    environment = {**os.environ, "LLMDEBUG_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", CHILD, RECORDED, *arguments]
    out = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    return Cost(**json.loads(out))


def cold_and_warm(tree: Path, case: Path) -> tuple[Cost, Cost]:
    with tempfile.TemporaryDirectory() as cache:
        first = cost(Path(cache), str(tree), str(case))
        return first, cost(Path(cache), str(tree), str(case))


def least(costs: list[Cost]) -> Cost:
    return Cost(*(min(column) for column in zip(*costs, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    start = least([cost(Path(os.devnull)) for _ in range(given.runs)])
    print(f"{'':<46}{'cold CPU s':>12}{'warm CPU s':>12}{'question s':>12}{'cold MB':>10}{'warm MB':>10}")
    print(f"{'start':<46}{start.cpu:>12.2f}{start.cpu:>12.2f}{0:>12.2f}{start.memory:>10.0f}{start.memory:>10.0f}")
    for case in given.cases:
        runs = [cold_and_warm(given.tree, case) for _ in range(given.runs)]
        cold, warm = least([c for c, _ in runs]), least([w for _, w in runs])
        figures = f"{cold.cpu:>12.2f}{warm.cpu:>12.2f}{warm.question:>12.2f}{cold.memory:>10.0f}{warm.memory:>10.0f}"
        print(f"{case.stem[:44]:<46}{figures}")


if __name__ == "__main__":
    main()
