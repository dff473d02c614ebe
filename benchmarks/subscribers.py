"""What many live streams on one run cost: the engine's throughput and the server's memory.

    python benchmarks/subscribers.py [--items 10000] [--streams 200] [--rounds 3]

A server (`weft dev`) runs a split; the streams are opened by this process. Rounds with and without
streams take turns, and the best of each counts: what else the machine does only slows it down.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from weft import AsyncEngine
from weft.api.client.values import Event
from weft.kernel.moment import from_iso

WAIT_S = 6
"""Long enough for all streams to be open before the items begin."""
DOCUMENT = {
    "id": "fan",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {"id": "pause", "type": "wait", "parameters": {"amount": WAIT_S}},
        {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.items"}},
        {"id": "double", "type": "transform", "parameters": {"expression": "$item * 2"}},
        {"id": "all", "type": "aggregator"},
    ],
    "edges": [
        {"id": "e0", "src": "start", "dst": "pause"},
        {"id": "e1", "src": "pause", "dst": "each"},
        {"id": "e2", "src": "each", "dst": "double"},
        {"id": "e3", "src": "double", "dst": "all"},
    ],
}


class Server:
    """`weft dev` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        weft = Path(sys.executable).with_name("weft")
        arguments = [weft, "dev", "--listen", "127.0.0.1:0", "--db", folder / "weft.db"]
        self._process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        self.url = re.findall(r"http://\S+:\d+", line)[0]

    def memory_mb(self) -> float:
        """Return what the process holds."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) / 1024

    def cpu_s(self) -> float:
        """Return the CPU time of the process so far."""
        parts = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate()


async def follow(engine: AsyncEngine, run: str) -> list[Event]:
    """Return the events of a run, each once and in order."""
    seen: list[Event] = []
    async for event in engine.run(run).events():
        assert event.seq == len(seen) + 1, (event.seq, len(seen))
        seen.append(event)
    return seen


async def round_of(server: Server, items: int, streams: int) -> tuple[float, float, float, int]:
    """Return seconds, CPU seconds of the server, its memory, and the events of one run.

    The run waits until all streams are open, and is measured from the end of that wait.
    """
    async with AsyncEngine.connect(server.url) as engine:
        run = await engine.start(DOCUMENT, {"items": list(range(items))})
        watching = [asyncio.create_task(follow(engine, run.id)) for _ in range(streams)]
        await asyncio.sleep(WAIT_S - 0.5)
        cpu = server.cpu_s()
        await asyncio.sleep(1)
        while (await run.info()).ended_at is None:
            await asyncio.sleep(0.25)
        spent, memory = server.cpu_s() - cpu, server.memory_mb()
        told = [*await asyncio.gather(*watching), await follow(engine, run.id)]
        assert {len(told[-1])} == {len(one) for one in told}
        begin = next(
            one for one in told[-1] if one.type == "node.succeeded" and one.node_id == "pause"
        )
        end = next(one for one in told[-1] if one.type == "run.ended")
        return (from_iso(end.at) - from_iso(begin.at)) / 1000, spent, memory, len(told[-1])


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found: dict[int, list[tuple[float, float, float, int]]] = {0: [], given.streams: []}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            await round_of(server, given.items // 10, 0)  # warm
            for _ in range(given.rounds):
                for streams, rounds in found.items():
                    rounds.append(await round_of(server, given.items, streams))
        finally:
            server.stop()
    for streams, rounds in found.items():
        seconds, cpu = min(one[0] for one in rounds), min(one[1] for one in rounds)
        memory, events = max(one[2] for one in rounds), rounds[0][3]
        print(
            f"{streams:>4} streams: {given.items / seconds:>7,.0f} items/s,"
            f" {cpu:5.2f} s CPU, {memory:6.1f} MB, {events} events"
        )


if __name__ == "__main__":
    asyncio.run(main())
