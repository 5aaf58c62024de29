# SPDX-License-Identifier: BSD-3-Clause
"""Result directories as `weft sim` writes them, made up: shapes that a small fabric would show."""
import json
import math
import os
import random


def run_json(label="", case="", values=None, seed=1, scale=1.0, **more):
    rng = random.Random(f"{label}{seed}")
    tail = 1400 * scale * rng.uniform(0.97, 1.05)
    times = {"min": tail * 0.7, "mean": tail * 0.85, "p50": tail * 0.84, "p99": tail * 0.99, "max": tail}
    run = {"schema": "weft.run/1", "mode": "sim", "cc": "smartt", "lb": "reps", "seed": seed,
           "flows": {"count": 8, "completed": 8, "verified": 8}, "fct_us": times, "delivered_us": times,
           "ideal_us": 1391.4, "inflation": tail / 1391.4, "goodput_gbps": 67108.864 / tail, "jain": 0.98,
           "packets": {"data": 2048, "retransmitted": rng.randrange(200), "trimmed": rng.randrange(200), "dropped": 0,
                       "marked": rng.randrange(1500), "acks": 2048, "nacks": 3, "credits": 0, "timeouts": 0},
           "queues": {"max_bytes": 59052, "mean_bytes": 711.5},
           "run": {"virtual_us": tail, "wall_s": 0.01, "events": 25333, "packet_hops": 14160, "max_rss_kib": 12784,
                   "digest": "a67a790b5003b59b"},
           "label": label, "case": case, "values": values or {}, "scenario": "8:1 incast"}
    run.update(more)
    return run


def write_csv(path, head, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + "\n")
        for row in rows:
            f.write(",".join(str(v) for v in row) + "\n")


def write_flows(path, rng, scale, sizes):
    rows = []
    for i in range(200):
        size = rng.choice(sizes)
        ideal = 5 + size * 8 / 50e3
        fct = ideal * scale * (1 + rng.expovariate(1))
        rows.append((i, i, 199, size, 0, f"{fct:.4f}", f"{fct - 2:.4f}", f"{ideal:.4f}", 1, 0))
    rows.append((200, 5, 199, sizes[0], 0, "", "", "5.1", 0, 0))
    write_csv(path, "flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background", rows)


def write_ports(path, rng, samples):
    ports = ["leaf0:host0", "host3"] + [f"leaf{i}:up{j}" for i in range(2) for j in range(4)] + ["spine0:down0"]
    rows = []
    for t in range(samples):
        for k, port in enumerate(ports):
            depth = 60000 * math.exp(-t / samples * 3) * (1 if k == 0 else 0.1 * k) * rng.uniform(0.6, 1)
            rows.append((t, port, int(depth), f"{min(1, rng.gauss(0.9, 0.05)):.3f}", 6250, 3, 1, 0))
    write_csv(path, "time_us,port,queue_bytes,utilisation,tx_bytes,marked,trimmed,dropped", rows)


def write_conns(path, rng, samples, frozen=True):
    rows = []
    for t in range(samples):
        for src in range(1, 11):
            cwnd = 40000 + 30000 * abs(math.sin(t / 60 + src)) + rng.uniform(0, 2000)
            rows.append((t, src, 0, int(cwnd), int(cwnd * 0.9), f"{12 + cwnd / 6e3:.2f}", "10.2", src % 8,
                         int(frozen and samples // 3 < t < samples // 2 and src % 2), 17))
    write_csv(path, "time_us,src,dst,cwnd_bytes,inflight_bytes,srtt_us,brtt_us,cached_evs,frozen,ev", rows)


def write_links(path, rng, switches, ups):
    rows = [("host0", 50, 10, 41000, 1, 0.5)]
    for s in range(switches):
        parts = [rng.uniform(0.8, 1.2) for _ in range(ups)]
        for u, part in enumerate(parts):
            rows.append((f"leaf{s}:up{u}", 50, 100, 410000, f"{part / sum(parts):.4f}", 0.8))
    write_csv(path, "port,gbps,packets,bytes,share,utilisation", rows)


def write_run(path, run, scale=1.0, series=0, sizes=(4096, 65536, 1 << 20), switches=2, ups=4):
    os.makedirs(path, exist_ok=True)
    rng = random.Random(path[-4:])
    with open(os.path.join(path, "run.json"), "w", encoding="utf-8") as f:
        json.dump(run, f)
    write_flows(os.path.join(path, "flows.csv"), rng, scale, sizes)
    if series:
        write_ports(os.path.join(path, "ports.csv"), rng, series)
        write_conns(os.path.join(path, "conns.csv"), rng, series)
        write_links(os.path.join(path, "links.csv"), rng, switches, ups)


def write_sweep(path, cases, axes, seeds, series=0, failed=0, **more):
    """`axes`: {name: values}; the last `failed` runs failed."""
    points = [{}]
    for name, values in axes.items():
        points = [{**p, name: v} for p in points for v in values]
    runs = []
    for k, case in enumerate(cases or [""]):
        for n, values in enumerate(points):
            for seed in seeds:
                ident = len(runs)
                label = " ".join(filter(None, [case] + [f"{a}={v}" for a, v in values.items()]))
                entry = {"id": ident, "dir": f"runs/{ident:04d}", "label": label, "case": case, "values": values,
                         "seed": seed, "status": "done", "error": ""}
                runs.append((entry, 1 + 0.2 * k + 0.5 * n))
    for entry, _ in runs[len(runs) - failed:]:
        entry.update(status="failed", error="flow 3 (1->0): Connection timed out")
    os.makedirs(path, exist_ok=True)
    for entry, scale in runs:
        if entry["status"] == "done":
            run = run_json(entry["label"], entry["case"], entry["values"], entry["seed"], scale)
            write_run(os.path.join(path, entry["dir"]), run, scale, series)
    sweep = {"schema": "weft.sweep/1", "title": "8:1 incast", "about": "Eight senders, one receiver.",
             "axes": [{"name": a, "values": v} for a, v in axes.items()], "cases": cases, "seeds": list(seeds),
             "runs": [entry for entry, _ in runs], **more}
    with open(os.path.join(path, "sweep.json"), "w", encoding="utf-8") as f:
        json.dump(sweep, f)
