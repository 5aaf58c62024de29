# SPDX-License-Identifier: BSD-3-Clause
"""Random cases for `weft sim`: a fabric, a workload, algorithms, parameters and faults. A case is a value; `argv` makes it a
command line, `simpler` lists the cases that are a step smaller."""
from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

KIB = 1024
# Preset, hosts, leaves, uplinks of a leaf, relative frequency.
FABRICS = (
    ("star:16", 16, 0, 0, 2), ("leafspine:2:2:4", 8, 2, 2, 3), ("leafspine:4:4:4", 16, 4, 4, 5),
    ("leafspine:8:4:4", 32, 8, 4, 3), ("leafspine:4:2:4:2", 16, 4, 4, 2), ("fattree:4", 16, 8, 2, 4),
    ("stripe:8:8:4:4:4", 32, 8, 4, 2), ("leafspine:8:8:8", 64, 8, 8, 1), ("fattree:6", 54, 18, 3, 1),
)
SIMPLE_FABRICS = ("star:16", "leafspine:2:2:4")  # a reader's favourites
SIZES = (3, KIB, 4 * KIB, 4 * KIB + 1, 64 * KIB, 256 * KIB, 1024 * KIB)
MANY_HOSTS = 32            # beyond it messages are at most MANY_BYTES, so that a case takes a second
MANY_BYTES = 64 * KIB
PACKET_LOSS = ("fault_loss_ppm", "fault_dup_ppm", "fault_reorder_ppm", "fault_corrupt_ppm")
# Values that users might choose, and the ends of ranges where a case still ends in seconds.
SWARM: dict[str, tuple[str, ...]] = {
    "ack_every": ("2", "4", "16", "64"), "acks_per_window": ("1", "8", "64"), "ack_burst": ("on",), "short_acks": ("on",),
    "ack_delay_ns": ("1", "1000", "100000"), "lb_all_acked": ("on",), "window_pkts": ("128", "256", "4096", "32640"),
    "payload_bytes": ("256", "512", "1500", "8192"), "evs_size": ("1", "2", "16", "257"), "pacing": ("off",),
    "rndv_bytes": ("1", "5000", "65536"), "idle_close_ns": ("0", "20000"), "unexpected_bytes": ("0", "4096", "100000"),
    "reorder_ns": ("1000", "20000", "1000000"), "rto_ns": ("20000", "200000", "1000000"),
    "rto_max_ns": ("1000000", "8000000000"), "brtt_floor_ns": ("50000",), "brtt_window_ns": ("1000000",),
    "crc": ("on",), "pmtu_discovery": ("on",), "probe_rate": ("1", "2"), "profile": ("1", "2", "3"),
    "encap": ("1", "2"), "job_id": ("1", "16777215"), "nic_tx_entries": ("4", "16"), "nic_rx_entries": ("16", "256"),
    "poll_delay_ns": ("1", "5000"), "queue_bytes": ("10000", "1000000"), "trim": ("0", "2", "3"), "ecn_min_pct": ("0",),
    "max_cwnd_pct": ("10", "400"), "fault_rx": ("on",), "quick_adapt": ("off",), "fast_increase": ("off",),
    "pull_pkts": ("1", "16"), "pull_max_pct": ("20", "500"), "nic_credits": ("1",),
}
# Where nothing slows senders down, what is left of short packets that were trimmed fills a link, and an incast never ends.
UNCONTROLLED = ("fixed", "dcqcn")
UET_PAYLOADS = ("1024", "2048", "4096", "8192")  # profiles want one of them
SPRAYED_PATHS = 64         # of spraypass, so it wants as many entropies
SWARM_SHARE = 0.3          # of the cases draw from it ...
SWARM_MOST = 6             # ... so many parameters
FAULTS_BEGIN_US = 400         # faults begin before this time
DURATIONS_US = (5, 20, 100, 500, 3000, 50000)


@dataclass(frozen=True)
class Case:
    fabric: str
    pattern: str           # of the workload: its name
    numbers: tuple[int, ...]  # ... and what stands behind it, the size last
    cc: str
    lb: str
    seed: int
    route: str = ""        # empty: the default
    trim: bool = True
    reconverge: str = ""   # empty: never
    background: str = ""   # empty: none
    sets: dict[str, str] = field(default_factory=dict)
    faults: tuple[tuple[int, str, int], ...] = ()  # begin, what, end, in microseconds

    @property
    def heals_us(self) -> int | None:
        """When the last fault ends; 0: none was there; None: packets are lost to the end."""
        if any(self.sets.get(key, "0") != "0" for key in PACKET_LOSS):
            return None
        return max((end for _, _, end in self.faults), default=0)

    def healthy(self) -> Case:
        return replace(self, faults=(), reconverge="")

    def argv(self) -> list[str]:
        matrix = ":".join([self.pattern, *map(str, self.numbers)])
        words = ["--topology", self.fabric, "--matrix", matrix, "--cc", self.cc, "--lb", self.lb]
        words += ["--seed", str(self.seed), "--end", "60s"]
        words += ["--route", self.route] if self.route else []
        words += [] if self.trim else ["--no-trim"]
        words += ["--reconverge", self.reconverge] if self.reconverge else []
        words += ["--background", self.background] if self.background else []
        for key, value in self.sets.items():
            words += ["--set", f"{key}={value}"]
        for begin, what, end in self.faults:
            words += ["--fault", f"{begin}us {what} until {end}us"]
        return words


@dataclass(frozen=True)
class Names:
    """The algorithms that this `weft` has."""
    cc: tuple[str, ...]    # of the sender, of the receiver, and pairs of both
    lb: tuple[str, ...]
    route: tuple[str, ...]


def names_of(help_text: str) -> Names:
    """The algorithms of `weft sim --help`."""
    parts: dict[str, list[str]] = {}
    title = ""
    for line in help_text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line.split(",")[0].split("(")[0].strip(": ")
        elif line.startswith("  ") and line[2:3].strip():
            parts.setdefault(title, []).append(line.split()[0])
    sender, receiver = parts["congestion control"], parts["receiver-driven congestion control"]
    pairs = [f"{r}+{s}" for r in receiver for s in ("smartt", "swift")]
    lbs = [name for name in parts["load balancing"] if name != "auto"]
    return Names(tuple(sender + receiver + pairs), tuple(lbs), tuple(parts["switches' choice among equal ports"]))


def workload(r: random.Random, hosts: int, times: int) -> tuple[str, tuple[int, ...]]:
    """`times`: messages are so many times as long as usual, for more packets in a second."""
    size = r.choice([s for s in SIZES if hosts <= MANY_HOSTS or s <= MANY_BYTES])
    some = min(hosts, 16)
    pattern, numbers = r.choice([("permutation", (hosts, size)), ("incast", (r.choice([1, 4, some - 1]), size)),
                                 ("random", (2 * hosts, size)), ("alltoall", (some, min(size, MANY_BYTES))),
                                 ("allreduce-ring", (some, size)), ("tornado", (hosts, size)),
                                 ("requests", (25, min(size, MANY_BYTES)))])
    return pattern, (*numbers[:-1], numbers[-1] * times)


def one_fault(r: random.Random, hosts: int, leaves: int, uplinks: int) -> tuple[int, str, int]:
    begin = r.randrange(FAULTS_BEGIN_US)
    host = f"host:{r.randrange(hosts)}"
    slow, errors = r.choice(["1%", "10%", "50%"]), r.choice(["1e-8", "1e-6", "1e-5"])
    whats = [f"fail {host}", f"degrade {host} {slow}", f"ber {host} {errors}"]
    if leaves:
        cable = f"leaf:{r.randrange(leaves)}:{r.randrange(uplinks)}"
        whats += [f"fail cable:{cable}", f"fail uplink:{cable}", f"fail downlink:{cable}", f"ber cable:{cable} 1e-6",
                  f"degrade cable:{cable} 5", f"renegotiate cable:{cable} 25%",
                  f"fail switch:spine:{r.randrange(2)}", f"fail switch:leaf:{r.randrange(leaves)}",
                  f"fail random:leaf:{r.choice([25, 50, 100])}%"]
    return begin, r.choice(whats), begin + r.choice(DURATIONS_US)


def losses(r: random.Random) -> dict[str, str]:
    """Packets that ports lose, repeat, hold back and damage; nothing of it in half of the cases."""
    sets: dict[str, str] = {}
    if r.random() < 0.5:
        return sets
    for key in PACKET_LOSS[:3]:
        rate = r.choice([0, 0, 100, 1000, 10000, 30000])
        if rate:
            sets[key] = str(rate)
    sets["fault_reorder_pkts"] = str(r.choice([1, 4, 64, 512]))
    if r.random() < 0.4:
        sets.update({"fault_corrupt_ppm": r.choice(["100", "1000", "10000"]), "crc": "on"})
    return sets


def swarm(r: random.Random) -> dict[str, str]:
    """A few parameters at unusual values: few at a time reach more than all at once."""
    if r.random() >= SWARM_SHARE:
        return {}
    keys = r.sample(sorted(SWARM), r.randrange(1, SWARM_MOST + 1))
    return {key: r.choice(SWARM[key]) for key in keys}


def fitting(cc: str, sets: dict[str, str]) -> dict[str, str]:
    """Without the values that the engine refuses together with others: `weft sim` exits with 1 there, which is a failure."""
    def fits(key: str, value: str) -> bool:
        if key == "payload_bytes":
            return "profile" not in sets or value in UET_PAYLOADS
        if key == "evs_size":
            return not cc.startswith("spraypass") or int(value) >= SPRAYED_PATHS
        return key != "probe_rate" or value != "2" or cc.split("+")[0] not in ("eqds", "spraypass", "expresspass")
    return {key: value for key, value in sets.items() if fits(key, value)}


def random_case(seed: int, names: Names, times: int = 1) -> Case:
    r = random.Random(seed)
    fabric, hosts, leaves, uplinks, _ = r.choices(FABRICS, [f[4] for f in FABRICS])[0]
    pattern, numbers = workload(r, hosts, times)
    cc, lb = r.choice(names.cc), r.choice(names.lb)
    route = r.choice(names.route) if r.random() < 0.2 else ""
    route = "" if route == "conga" and not leaves else route  # it wants two tiers
    sets = {"fault_seed": str(seed), **losses(r), **fitting(cc, swarm(r))}
    if cc in UNCONTROLLED:
        sets.pop("payload_bytes", None)
        sets.pop("pmtu_discovery", None)  # begins with small packets
    detection = r.random()
    if detection < 0.06:
        lb, sets["go_back_n"] = "ecmp", "on"
    elif detection < 0.12:
        sets["dup_ack_threshold"] = "3"
    elif detection < 0.18:
        sets["reorder_shim_ns"] = r.choice(["5000", "50000"])
    faults = tuple(one_fault(r, hosts, leaves, uplinks) for _ in range(r.choice([0, 1, 1, 2, 4])))
    reconverge = r.choice(["0us", "50us", "1ms"]) if faults and r.random() < 0.4 else ""
    background = "20%" if r.random() < 0.1 else ""
    return Case(fabric, pattern, numbers, cc, lb, seed, route, r.random() < 0.65, reconverge, background, sets, faults)


def smaller_workloads(case: Case) -> Iterator[Case]:
    *counts, size = case.numbers
    for less in (1, size // 16, size // 2):
        if 0 < less < size:
            yield replace(case, numbers=(*counts, less))
    for less in (2, counts[0] // 2):
        if 1 < less < counts[0]:
            yield replace(case, numbers=(less, *counts[1:], size))
    if case.pattern != "permutation":
        yield replace(case, pattern="permutation", numbers=(8, size))


def rank(fabric: str) -> int:
    return SIMPLE_FABRICS.index(fabric) if fabric in SIMPLE_FABRICS else len(SIMPLE_FABRICS)


def simpler(case: Case) -> Iterator[Case]:
    """Cases that a reader understands sooner, the largest steps first."""
    if case.faults:
        yield replace(case, faults=())
    for i in range(len(case.faults)):
        yield replace(case, faults=case.faults[:i] + case.faults[i + 1:])
    for key in case.sets:
        yield replace(case, sets={k: v for k, v in case.sets.items() if k != key})
    changes: list[dict[str, object]] = [{"background": ""}, {"reconverge": ""}, {"route": ""}, {"trim": True}, {"cc": "fixed"},
                                        {"cc": case.cc.split("+")[0]}, {"seed": 1}]
    changes += [{"fabric": name} for name in SIMPLE_FABRICS[:rank(case.fabric)]]
    changes += [] if case.lb == "ecmp" else [{"lb": "ops"}]
    for change in changes:
        less = replace(case, **change)  # type: ignore[arg-type]
        if less != case:
            yield less
    yield from smaller_workloads(case)
