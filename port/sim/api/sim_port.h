/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual NIC: finite transmit and receive rings over a packet slab. The lab moves packets between it and the fabric.
 */
#ifndef WEFT_PORT_SIM_H
#define WEFT_PORT_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/err.h"
#include "weft/spi/port.h"

struct sim_slab; /* packets shared by all virtual NICs of a run, grows in blocks up to a limit */

struct sim_slab *sim_slab_create(uint32_t max_pkts);
void sim_slab_destroy(struct sim_slab *slab);
struct weft_pkt *sim_slab_get(struct sim_slab *slab); /* NULL: limit reached */
void sim_slab_put(struct sim_slab *slab, struct weft_pkt *pkt);
uint32_t sim_slab_used(const struct sim_slab *slab); /* packets out; 0 at the end of a clean run */

struct sim_port_conf {
	struct sim_slab *slab; /* outlives the port */
	uint64_t link_bps;
	uint32_t max_ip_bytes;
	uint16_t tx_entries; /* per class (control, data) */
	uint16_t rx_entries; /* beyond it arriving packets are dropped and counted */
	bool by_reference;   /* senders' memory outlives all packets and never changes: payload is not copied */
};

/* The port handed to the engine. -EINVAL, -ENOMEM. */
int sim_port_create(const struct sim_port_conf *conf, struct weft_port **out, struct weft_err *err);

/* The wire's side. */
/* Next to transmit: credits first, then control; NULL: none. */
struct weft_pkt *sim_port_pull(struct weft_port *port);
struct weft_pkt *sim_port_pull_credit(struct weft_port *port);  /* credits alone (WEFT_PKT_CREDIT); NULL: none */
struct weft_pkt *sim_port_pull_control(struct weft_port *port); /* credits and control alone */
bool sim_port_deliver(struct weft_port *port, struct weft_pkt *pkt,
		      weft_ns now); /* false: ring full, packet freed and counted */
bool sim_port_tx_pending(const struct weft_port *port);

/* Fetches the port into the caches: its turn comes soon. */
void sim_port_prefetch(const struct weft_port *port);
uint64_t sim_port_rx_dropped(const struct weft_port *port);

#endif
