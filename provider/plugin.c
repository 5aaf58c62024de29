/* SPDX-License-Identifier: BSD-3-Clause */
/* The only exported symbol: libfabric calls fi_prov_ini after loading the library. */
#include "prov_conf.h"
#include "prov_fabric.h"
#include "prov_fork.h"
#include "prov_getinfo.h"
#include "prov_log.h"
#include "prov_nic.h"
#include "tables.h"

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return prov_fabric_open(&prov_tables, attr, fabric, context);
}

/* libfabric 1.17 keeps its own record in `context`; the byte after its type and its flag for logging says that nothing
 * is to be layered over our endpoints unasked. Otherwise datagrams would be offered as RDM endpoints a second time, by
 * ofi_rxd, and listed before ours. */
static void disable_layering(void)
{
	enum { DISABLE_LAYERING = 5 };
	((uint8_t *)&prov_weft.context)[DISABLE_LAYERING] = 1;
}

FI_EXT_INI
{
	prov_weft.getinfo = prov_getinfo;
	prov_weft.fabric = fabric_open;
	prov_conf_define();
	disable_layering();
	prov_fork_watch(prov_nics_orphan);
	return &prov_weft;
}
