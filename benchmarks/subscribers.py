"""What many live streams on one run cost: the engine's throughput and the server's memory.

    python benchmarks/subscribers.py [--cluster] [--items 10000] [--streams 200] [--rounds 5]

A server runs a split: `onward dev`, or with `--cluster` a master beside a worker and a scheduler on
private services. The streams are read by a process of their own, over bare sockets, which checks
that each sees every number once. Rounds with and without streams take turns; the medians count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cluster import bench, free_port, say

from onward import AsyncEngine
from onward.kernel.timestamps import from_iso

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
ID = re.compile(rb"^id: (\d+)$", re.M)


class Server(NamedTuple):
    """Where the API is, and the process that serves it."""

    url: str
    pid: int

    def memory_mb(self) -> float:
        """Return what the process holds."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) / 1024

    def cpu_s(self) -> float:
        """Return the CPU time of the process so far."""
        parts = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


class Round(NamedTuple):
    """What one run showed."""

    seconds: float
    cpu_s: float
    memory_mb: float
    events: int


@asynccontextmanager
async def embedded() -> AsyncIterator[Server]:
    """Serve with `onward dev`: the engine is in the same process."""
    with tempfile.TemporaryDirectory() as folder:
        onward = Path(sys.executable).with_name("onward")
        arguments = [onward, "dev", "--listen", "127.0.0.1:0", "--db", f"{folder}/onward.db"]
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            yield Server(re.findall(r"http://\S+:\d+", process.stderr.readline())[0], process.pid)
        finally:
            process.terminate()
            process.communicate()


@asynccontextmanager
async def distributed() -> AsyncIterator[Server]:
    """Serve with a master; the engine is a worker beside it."""
    async with bench(workers=1, masters=0) as at:
        port = free_port()
        at.processes.start("master-1", "--listen", f"127.0.0.1:{port}")
        await asyncio.to_thread(at.processes.until_ready, 3)
        yield Server(f"http://127.0.0.1:{port}", at.processes.running["master-1"].pid)


async def read_one(host: str, port: int, run: str) -> int:
    """Return how many events one stream brought, each once and in order."""
    reader, writer = await asyncio.open_connection(host, port)
    path = f"/api/v1/runs/{run}/events/stream"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    seen, rest = 0, b""
    while chunk := await reader.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for number in ID.findall(b"\n".join(lines)):
            seen += 1
            assert int(number) == seen, (number, seen)
        if b"0\r" in lines:  # the last chunk of a chunked answer
            break
    writer.close()
    return seen


async def read_all(url: str, run: str, streams: int) -> None:
    """Read as many streams at once, and print what each of them brought."""
    at = urlsplit(url)
    assert at.hostname is not None
    assert at.port is not None
    told = (read_one(at.hostname, at.port, run) for _ in range(streams))
    print(json.dumps(await asyncio.gather(*told)))


async def round_of(server: Server, items: int, streams: int) -> Round:
    """Run a split once, and measure from the end of its wait: all streams are open by then."""
    async with AsyncEngine.connect(server.url) as engine:
        run = await engine.start(DOCUMENT, {"items": list(range(items))})
        readers = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--read", server.url, run.id, str(streams)),
            stdout=subprocess.PIPE,
        )
        await asyncio.sleep(WAIT_S - 0.5)
        cpu = server.cpu_s()
        await asyncio.sleep(1)
        memory = 0.0
        while (await run.info()).ended_at is None:
            memory = max(memory, server.memory_mb())
            await asyncio.sleep(0.5)
        spent, memory = server.cpu_s() - cpu, max(memory, server.memory_mb())
        told = json.loads((await readers.communicate())[0])
        events = [event async for event in engine.run(run.id).events()]
        assert {len(events), *told} == {len(events)}, (len(events), told)
        begin = next(
            event.at
            for event in events
            if (event.type, event.node_id) == ("node.succeeded", "pause")
        )
        end = next(event.at for event in events if event.type == "run.ended")
        took_s = (from_iso(end) - from_iso(begin)) / 1000
        return Round(took_s, spent, memory, len(events))


async def measure(cluster: bool, items: int, streams: int, rounds: int) -> None:
    """Measure and print."""
    found: dict[int, list[Round]] = {0: [], streams: []}
    async with distributed() if cluster else embedded() as server:
        await round_of(server, items // 10, 0)  # warm
        for number in range(rounds):
            for count, seen in found.items():
                seen.append(await round_of(server, items, count))
                say(f"  round {number + 1} with {count} streams: {seen[-1]}")
    rates = {}
    for count, seen in found.items():
        rates[count] = items / statistics.median(one.seconds for one in seen)
        cpu_s = statistics.median(one.cpu_s for one in seen)
        memory = max(one.memory_mb for one in seen)
        print(
            f"{count:>4} streams: {rates[count]:>7,.0f} items/s, server {cpu_s:5.2f} s CPU,"
            f" {memory:6.1f} MB at most, {seen[0].events} events"
        )
    print(f"throughput with {streams} streams: {rates[streams] / rates[0] - 1:+.1%}")


def main() -> None:
    """Read the words, and do it."""
    if sys.argv[1:2] == ["--read"]:
        asyncio.run(read_all(sys.argv[2], sys.argv[3], int(sys.argv[4])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", action="store_true", help="a master, a worker, a scheduler")
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    asyncio.run(measure(given.cluster, given.items, given.streams, given.rounds))


if __name__ == "__main__":
    main()
