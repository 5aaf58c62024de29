/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection-oriented endpoints: what fabrics and domains open. */
#ifndef PROV_CM_H
#define PROV_CM_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

/* fi_passive_ep. Opens the device that the fi_info names. */
int prov_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context);
/* fi_endpoint of FI_EP_MSG. */
int prov_msg_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

#endif
