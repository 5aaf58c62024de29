/* SPDX-License-Identifier: BSD-3-Clause */
/* The only exported symbol: libfabric calls fi_prov_ini after loading the library. */
#define EXTERNALLY_VISIBLE
#include "prov.h"

struct fi_provider prov_weft = {
	.name = PROV_NAME,
	.version = FI_VERSION(0, 1),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.getinfo = prov_getinfo,
	.fabric = prov_fabric_open,
};

/* The attribute macro of fi_prov.h is empty unless the includer defines EXTERNALLY_VISIBLE. */
FI_EXT_INI
{
	prov_conf_define();
	return &prov_weft;
}
