/* SPDX-License-Identifier: BSD-3-Clause */
/* Encryption of a device: the port that does it, and its key file, which may change. */
#ifndef PROV_KEYS_H
#define PROV_KEYS_H

#include "prov_nic.h"

/* Puts a port that encrypts around nic->engine_port, with the keys of the file `path`; `ip` is the device's. Errors of
 * the file and of weft_tss_open; nic->engine_port is as before then. */
int prov_keys_open(struct prov_nic *nic, const char *path, const struct weft_ip *ip, struct weft_err *err);
/* From now on the file is looked at every second, if there is one; and until prov_keys_stop. */
void prov_keys_start(struct prov_nic *nic);
void prov_keys_stop(struct prov_nic *nic);

/* Whether encrypted packets wait for room in the device. Lock held. */
bool prov_keys_pending(const struct prov_nic *nic);

/* Why `peer` may be silent, as far as keys go: writes "; ..." or nothing. Lock held. */
void prov_keys_doubt(const struct prov_nic *nic, const struct weft_ip *peer, char *buf, size_t len);

#endif
