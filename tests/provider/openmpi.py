#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""openmpi.py WEFT PROGRAM CASE - an MPI program under Debian's Open MPI, its messages through the provider and `weft switch`.
Needs FI_PROVIDER_PATH. What a case asks for is seen in the switch's and the engines' counters too."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile

WEFT, PROGRAM, CASE = sys.argv[1:4]
MTL = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "btl", "self,vader", "--mca", "osc", "pt2pt"]
BTL = ["--mca", "pml", "ob1", "--mca", "btl", "ofi,tcp,self", "--mca", "osc", "rdma"]
# Ranks, components, parts of the program, options of the switch, FI_WEFT_TUNE, counter that must not be zero.
CASES: dict[str, tuple[int, list[str], list[str], list[str], str | None, str]] = {
    "two": (2, MTL, ["modes", "matching", "collectives=16777216"], [], None, "tx_data"),
    "four": (4, MTL, ["modes", "matching", "collectives=1048576", "onesided"], [], None, "tx_data"),
    "incast": (4, MTL, ["incast", "collectives=65536"], ["--link-gbps", "1", "--queue-bytes", "65536"], None, "rx_trimmed"),
    "loss": (4, MTL, ["modes", "matching", "collectives=65536"], [], "fault_loss_ppm=10000", "tx_retx"),
    "onesided_two": (2, BTL, ["onesided"], [], None, "tx_data"),
    "onesided_four": (4, BTL, ["onesided"], [], None, "tx_data"),
    "onesided_loss": (2, BTL, ["onesided"], [], "fault_loss_ppm=10000", "tx_retx"),
}
ranks, components, parts, switch_options, tune, counter = CASES[CASE]
# Debian's configuration excludes ofi, so every component is named. mpirun refuses root unless told twice.
mpirun = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), "-x", "FI_PROVIDER_PATH", "-x", "FI_PROVIDER",
          "-x", "FI_WEFT_DEVICE", "-x", "FI_WEFT_ADDR", "-x", "FI_LOG_LEVEL", "-x", "FI_LOG_PROV", *components,
          "--mca", "opal_common_ofi_provider_include", "weft"]
mpirun += [*(["-x", "FI_WEFT_TUNE"] if tune else []), PROGRAM, *parts]

with tempfile.TemporaryDirectory(prefix="weft-mpi-") as folder:
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", FI_PROVIDER="weft",
               FI_WEFT_DEVICE=f"net_virtio_user0,path={folder}/port%r", FI_WEFT_ADDR="10.0.0.1+%r", TMPDIR=folder,
               FI_LOG_LEVEL="info", FI_LOG_PROV="weft", FI_WEFT_TUNE=tune or "")
    switch = subprocess.Popen([WEFT, "switch", "--vhost", f"{folder}/port:{ranks}", *switch_options], text=True,
                              stdout=subprocess.PIPE)
    try:
        run = subprocess.run(mpirun, env=env, text=True, capture_output=True, timeout=170)
    finally:
        switch.send_signal(signal.SIGINT)
        table, _ = switch.communicate(timeout=20)
    told = "\n".join(line for line in run.stderr.splitlines() if "fi_param" not in line)[-4000:]
    missing = [part for part in parts if f"{part}: {ranks} ranks agree" not in run.stdout]
    if run.returncode != 0 or missing:
        sys.exit(f"exit {run.returncode}, without {missing}\n{run.stdout}\n{told}\n{table}")
    # Nothing took another way, and what the case is about has happened.
    received = [int(line.split()[1]) for line in table.splitlines() if line[:1].isdigit()]
    assert len(received) == ranks and min(received) > 20, table
    counts = [int(n) for n in re.findall(rf"net_virtio_user0: {counter} (\d+):", run.stderr)]
    assert sum(counts) > 0, f"no {counter}\n{told}\n{table}"
