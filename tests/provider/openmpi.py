#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""openmpi.py WEFT PROGRAM - an MPI program of four ranks under Debian's Open MPI, its messages through the provider and
`weft switch`. Needs FI_PROVIDER_PATH."""
import os
import signal
import subprocess
import sys
import tempfile

WEFT, PROGRAM = sys.argv[1:3]
RANKS = 4
# Debian's configuration excludes ofi, so every component is named. mpirun refuses root unless told twice.
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n", str(RANKS), "-x", "FI_PROVIDER_PATH", "-x", "FI_PROVIDER",
          "-x", "FI_WEFT_DEVICE", "-x", "FI_WEFT_ADDR", "--mca", "pml", "cm", "--mca", "mtl", "ofi",
          "--mca", "opal_common_ofi_provider_include", "weft", "--mca", "btl", "self,vader"]

with tempfile.TemporaryDirectory(prefix="weft-mpi-") as folder:
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", FI_PROVIDER="weft",
               FI_WEFT_DEVICE=f"net_virtio_user0,path={folder}/port%r", FI_WEFT_ADDR="10.0.0.1+%r", TMPDIR=folder)
    switch = subprocess.Popen([WEFT, "switch", "--vhost", f"{folder}/port:{RANKS}"], text=True, stdout=subprocess.PIPE)
    run = subprocess.run([*MPIRUN, PROGRAM], env=env, text=True, capture_output=True, timeout=150)
    switch.send_signal(signal.SIGINT)
    table, _ = switch.communicate(timeout=20)
    if run.returncode != 0 or f"{RANKS} ranks agree" not in run.stdout:
        sys.exit(f"exit {run.returncode}\n{run.stdout}\n{run.stderr}\n{table}")
    # Each rank's all-to-alls alone are more than this: nothing took another way.
    received = [int(line.split()[1]) for line in table.splitlines() if line[:1].isdigit()]
    assert len(received) == RANKS and min(received) > 3 * 300000 // 4096, table
