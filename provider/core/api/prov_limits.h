/* SPDX-License-Identifier: BSD-3-Clause */
/* What the provider grants at most, and what it takes where an application leaves a choice. */
#ifndef PROV_LIMITS_H
#define PROV_LIMITS_H

enum {
	PROV_IOV_MAX = 4,          /* segments per operation */
	PROV_MR_IOV_MAX = 16,      /* segments per memory region */
	PROV_INJECT_BYTES = 4096,  /* largest message copied at once */
	PROV_QUEUE_DEFAULT = 1024, /* entries of a transmit, receive or completion queue whose size was left open */
	PROV_QUEUE_MAX = 65536,    /* largest size granted */
	PROV_DGRAM_BYTES = 1392,   /* longest datagram: a packet of 1500 bytes */
	PROV_CM_DATA_BYTES = 256,  /* most data with a connection request or its answer */
	PROV_CM_NUMBER = 1,        /* endpoint that makes connections */
	PROV_MIN_MULTI_RECV = 64,  /* default of FI_OPT_MIN_MULTI_RECV, bytes */
	PROV_CTX_MAX = 16,         /* contexts of a scalable endpoint per direction: endpoint numbers of one address */
};

/* Private operation flag (bits 60 to 63 are the provider's): no entry for success whatever the endpoint's binding. */
#define PROV_NO_COMPLETION (UINT64_C(1) << 60)

#endif
