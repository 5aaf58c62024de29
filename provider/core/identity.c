/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_log.h"

struct fi_provider prov_weft = {
	.name = PROV_NAME,
	.version = PROV_VERSION,
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
};
