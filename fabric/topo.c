/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo.h"
#include "net.h"
#include "workload.h"
