/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROV_TABLES_ALL_H
#define PROV_TABLES_ALL_H

#include "prov_tables.h"

/* What fabrics, and all that is opened from them, offer. */
extern const struct prov_tables prov_tables;

#endif
