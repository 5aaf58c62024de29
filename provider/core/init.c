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

/* libfabric 1.17 keeps its own record in `context`; the byte after its type and its flag for logging says that nothing
 * is to be layered over our endpoints unasked. Otherwise datagrams would be offered as RDM endpoints a second time, by
 * ofi_rxd, and listed before ours. */
static void no_layers(void)
{
	enum { DISABLE_LAYERING = 5 };
	((uint8_t *)&prov_weft.context)[DISABLE_LAYERING] = 1;
}

/* The attribute macro of fi_prov.h is empty unless the includer defines EXTERNALLY_VISIBLE. */
FI_EXT_INI
{
	prov_conf_define();
	no_layers();
	prov_fork_watch();
	return &prov_weft;
}
