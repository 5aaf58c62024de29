/* SPDX-License-Identifier: BSD-3-Clause */
/* What applications are told of the hardware behind a device, before it is opened: fi_info.nic. */
#ifndef PROV_NIC_INFO_H
#define PROV_NIC_INFO_H

#include <rdma/fabric.h>

#include "prov_conf.h"

#define PROV_SYSFS "/sys"

/* The kernel's description of this device's interface or PCI function, below `sysfs`; what it does not know, and all
 * of a device that is neither, is left out (NULL, 0, unknown). The application frees it with its fi_info, or fi_close
 * does. NULL: no memory. */
struct fid_nic *prov_nic_info(const struct prov_dev *dev, const char *sysfs);

#endif
