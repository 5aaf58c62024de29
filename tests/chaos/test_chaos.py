#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_chaos.py WEFT CHAOS_LIVES - random cases use every algorithm and repeat by their seed; a failure is shrunk to
what causes it."""
from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace

from chaos import ENOUGH_CASES, Progress, Score
from chaos_case import Case, names_of, random_case, simpler
from chaos_judge import AnyCase, Judge, Verdict, shrink
from life_case import LifeCase, parameters_of, random_life, simpler_life

WEFT, LIVES = sys.argv[1:3]
NAMES = names_of(subprocess.run([WEFT, "sim", "--help"], capture_output=True, text=True, check=True).stdout)
PLAIN = Case("leafspine:4:4:4", "permutation", (16, 65536), "smartt", "reps", 1)
FAULTS = ((5, "fail cable:leaf:0:1", 100), (10, "ber host:3 1e-6", 50))


def test_names() -> None:
    assert "smartt" in NAMES.cc and "eqds" in NAMES.cc and "expresspass+swift" in NAMES.cc, NAMES.cc
    assert "reps" in NAMES.lb and "auto" not in NAMES.lb and "drill" in NAMES.route, NAMES


def test_random_cases() -> None:
    cases = [random_case(seed, NAMES) for seed in range(500)]
    assert cases == [random_case(seed, NAMES) for seed in range(500)]
    assert {c.cc for c in cases} == set(NAMES.cc) and {c.lb for c in cases} == set(NAMES.lb)
    assert {c.pattern for c in cases} >= {"incast", "alltoall", "allreduce-ring"}
    kinds = {what.split()[0] + " " + what.split()[1].split(":")[0] for c in cases for _, what, _ in c.faults}
    assert kinds >= {"fail host", "fail switch", "degrade cable", "ber host", "fail random"}, kinds


def test_argv() -> None:
    case = replace(PLAIN, sets={"crc": "on"}, faults=FAULTS, reconverge="0us", trim=False)
    words = case.argv()
    assert words[words.index("--set") + 1] == "crc=on" and "--no-trim" in words
    assert words[words.index("--fault") + 1] == "5us fail cable:leaf:0:1 until 100us"
    assert case.heals_us == 100 and PLAIN.heals_us == 0 and not case.healthy().faults
    assert replace(case, sets={"fault_loss_ppm": "10"}).heals_us is None


def test_simpler() -> None:
    case = replace(PLAIN, sets={"crc": "on"}, faults=FAULTS)
    less = list(simpler(case))
    assert less[0].faults == () and case not in less
    assert any(c.faults == FAULTS[:1] for c in less) and any(not c.sets and c.faults == FAULTS for c in less)


def test_shrink() -> None:
    """What does not matter goes, what matters stays."""
    case = random_case(7, NAMES)
    case = replace(case, sets={**case.sets, "go_back_n": "on"}, faults=FAULTS, numbers=(16, 65536), pattern="permutation")
    least = shrink(case, lambda c: isinstance(c, Case) and c.sets.get("go_back_n") == "on" and FAULTS[1] in c.faults and
                   c.numbers[-1] > 5000)
    assert isinstance(least, Case) and least.sets == {"go_back_n": "on"} and least.faults == FAULTS[1:], least
    assert least.numbers == (2, 8192), least


def test_judge() -> None:
    judge = Judge(WEFT)
    fine = judge.judge(PLAIN)
    assert fine.kind == "fine" and fine.packets > 200 and fine.hops > fine.packets, fine
    assert judge.judge(replace(PLAIN, cc="nobody")).kind == "refused"
    dead = replace(PLAIN, sets={"peer_timeout_ns": "1000", "fault_loss_ppm": "300000", "ack_every": "4"})
    assert judge.judge(dead).kind == "stall"
    late = replace(PLAIN, faults=((0, "fail host:3", 50000),), sets={"rto_max_ns": "60000000000"})
    assert Judge(WEFT, limit=-10000.0).judge(late).kind == "late"
    least = shrink(dead, lambda c: judge.judge(c).kind == "stall", seconds=10)
    assert "peer_timeout_ns" in least.sets and "ack_every" not in least.sets, least


def test_random_lives() -> None:
    parameters = parameters_of(LIVES)
    cases = [random_life(seed, NAMES.cc, NAMES.lb, parameters) for seed in range(2000)]
    assert cases == [random_life(seed, NAMES.cc, NAMES.lb, parameters) for seed in range(2000)]
    assert {c.cc for c in cases} == set(NAMES.cc) - {"auto"} and {c.lb for c in cases} == set(NAMES.lb)
    assert {key for c in cases for key in c.sets} >= {p.key for p in parameters} | {"crashes", "nomem", "boot_nomem"}
    for p in parameters:
        values = {int(c.sets[p.key]) for c in cases if p.key in c.sets}
        assert {p.least, p.most} <= values <= set(range(p.least, p.most + 1)) if p.most < 10 ** 6 else values, (p, values)


def test_lives() -> None:
    """Crashes, failing allocations and a bad wire pass. A peer that is given up though it lives does not."""
    judge = Judge(WEFT, lives=LIVES)
    lives_ccs = [cc for cc in NAMES.cc if cc != "auto"]
    bad = {"crashes": "2", "loss_ppm": "20000", "dup_ppm": "10000", "late_ppm": "10000", "nomem": "20", "boot_nomem": "9"}
    for seed in range(20):
        verdict = judge.judge(LifeCase(lives_ccs[seed % len(lives_ccs)], "reps", seed, bad))
        assert verdict.kind == "fine" and verdict.packets > 500, (seed, verdict)
    assert judge.judge(LifeCase("smartt", "reps", 1, {"profile": "1", "payload_bytes": "100"})).kind == "refused"
    dead = LifeCase("smartt", "reps", 1, {"crashes": "0", "peer_timeout_ns": "20000", "loss_ppm": "300000", "mark_ppm": "100"})
    assert judge.judge(dead).kind == "broken"
    least: AnyCase = shrink(dead, lambda c: judge.judge(c).kind == "broken", seconds=10)
    assert isinstance(least, LifeCase) and "peer_timeout_ns" in least.sets and "mark_ppm" not in least.sets, least
    assert least not in simpler_life(least)


def test_lives_that_failed() -> None:
    """In an outage more credits are sent and lost than a sender takes for lost: it waited until it asked eight times. A
    READ of a former life that was reset gave up the connection of the present one, too."""
    outage = {"crashes": "0", "outages": "1", "outage_us": "3125", "brtt_floor_ns": "1000000", "payload_bytes": "68"}
    verdict = Judge(WEFT, lives=LIVES).judge(LifeCase("spraypass", "ops", 24596, outage))
    assert verdict.kind == "fine", verdict
    crashes = {"messages": "200", "bytes": "32768", "crashes": "3", "down_us": "100", "loss_ppm": "10000", "mark_ppm": "50000",
               "late_ns": "15625", "brtt_ns": "100000", "rndv_bytes": "10862"}
    verdict = Judge(WEFT, lives=LIVES).judge(LifeCase("expresspass", "ops", 1083952, crashes))
    assert verdict.kind == "fine", verdict


def test_refused() -> None:
    """Refusals are no failures, unless there are too many, or an algorithm is never tried."""
    score = Score()
    for _ in range(ENOUGH_CASES - 1):
        score.add(PLAIN, Verdict("refused", "why"))
    assert score.hollow() == ["no run was fine"]
    score.add(PLAIN, Verdict("refused", "why"))
    assert score.hollow() == [
        "no run was fine", f"weft sim: {ENOUGH_CASES} of {ENOUGH_CASES} runs were refused, 40% may be",
        f"weft sim with --cc smartt: none of {ENOUGH_CASES} runs was fine, {ENOUGH_CASES} were refused",
        f"weft sim with --lb reps: none of {ENOUGH_CASES} runs was fine, {ENOUGH_CASES} were refused"]
    for _ in range(2 * ENOUGH_CASES):
        score.add(replace(PLAIN, cc="swift"), Verdict("fine"))
    assert score.hollow() == [f"weft sim with --cc smartt: none of {ENOUGH_CASES} runs was fine, {ENOUGH_CASES} were refused"]
    score.add(PLAIN, Verdict("fine"))
    assert not score.hollow() and not score.failures
    for _ in range(ENOUGH_CASES):
        score.add(LifeCase("smartt", "reps", 1), Verdict("refused", "why"))
    assert [text.split(":")[0] for text in score.hollow()] == [
        "chaos_lives", "chaos_lives with --cc smartt", "chaos_lives with --lb reps"], score.hollow()


def test_score() -> None:
    score = Score()
    score.add(PLAIN, Verdict("fine", packets=5, hops=20, rtos=1.5))
    score.add(PLAIN, Verdict("stall", "why", packets=1))
    assert score.total.failed == 1 and score.total.packets == 6 and len(score.failures) == 1
    assert "smartt" in score.table() and "1.5 RTO" in score.table()
    assert "2 runs, 0.0 million packets, 0.0 million hops, 1 failed" in Progress(100).text(score)


def test_packets() -> None:
    """Their number ends a run, whatever the time."""
    score, progress = Score(), Progress(0.001, 100)
    progress.say(score)
    assert progress.share == 0 and "0 %" in progress.text(score), progress.text(score)
    for share in (0.4, 0.8, 1):
        score.add(PLAIN, Verdict("fine", packets=40))
        progress.say(score)
        assert progress.share == share and f"{100 * share:.0f} %" in progress.text(score), progress.text(score)


def test_command() -> None:
    """All together for two seconds, and the exit status of a failure."""
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, os.path.join(here, "chaos.py"), os.path.dirname(os.path.abspath(WEFT))]
    run = subprocess.run([*command, "--seconds", "2", "--seed", "1", "--outages", "12"], capture_output=True, text=True)
    assert run.returncode == 0 and "100 %" in run.stdout and "\nall " in run.stdout, run
    run = subprocess.run([*command, "--seconds", "1", "--seed", "1", "--healed-rtos=-1e9"], capture_output=True, text=True)
    assert run.returncode == 1 and "late, shrunk:" in run.stdout and "weft sim --topology" in run.stdout, run


def stubbed(folder: str, status: int, kind: str) -> str:
    """chaos.py with a command, or a program of lives, that complains of every case and exits so."""
    build = os.path.join(folder, f"{kind}{status}")
    os.makedirs(os.path.join(build, "tests", "chaos"))
    for program, path in ((WEFT, os.path.join(build, "weft")), (LIVES, os.path.join(build, "tests", "chaos", "chaos_lives"))):
        program = os.path.abspath(program)
        if os.path.basename(path) != kind:
            os.symlink(program, path)
            continue
        with open(path, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\ncase "$*" in *--help* | parameters) exec {shlex.quote(program)} "$@" ;; esac\n'
                    f'echo "stub: never" >&2\nexit {status}\n')
        os.chmod(path, 0o755)
    return build


def test_stubs() -> None:
    """A program that refuses or fails every case is found."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory(prefix="weft-chaos-") as folder:
        for kind, status, every, wanted in (
                ("weft", 2, 1000000, "no run was fine"), ("weft", 1, 1000000, "crash: exit status 1: stub: never"),
                ("chaos_lives", 3, 1, "no run was fine"), ("chaos_lives", 3, 2, "chaos_lives: "),
                ("chaos_lives", 1, 1, "broken: stub: never")):
            build = stubbed(os.path.join(folder, str(every)), status, kind)
            command = [sys.executable, os.path.join(here, "chaos.py"), build, "--seconds", "4", "--seed", "1"]
            run = subprocess.run([*command, "--lives-every", str(every), "--outages", "12"], capture_output=True, text=True)
            assert run.returncode == 1 and f"\n{wanted}" in run.stdout, (kind, status, run)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name, "passed")
