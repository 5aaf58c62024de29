/* SPDX-License-Identifier: BSD-3-Clause */
#include "smartt_model.h"

#include <math.h>

void model_init(struct model *m, double link_bps, double brtt_ns, double mtu)
{
	double bdp = link_bps / 8 * brtt_ns / 1e9;

	*m = (struct model){.mtu = mtu, .brtt = brtt_ns, .trtt = 1.5 * brtt_ns, .bdp = bdp, .avg_rtt = brtt_ns};
	m->fi = bdp / 150000;
	m->pi = m->brtt / (m->trtt - m->brtt) * bdp / 150000;
	m->cwnd = fmax(1.5 * bdp, mtu);
	m->last_decrease = -INFINITY;
	m->weight = 1.0 / 64;
}

static void clamp(struct model *m)
{
	m->cwnd = fmax(fmin(m->cwnd, 1.5 * m->bdp), m->mtu);
}

/* Algorithm 2. */
static bool quick_adapt(struct model *m, double now, double unacked)
{
	bool adapted = false;

	if (now < m->end)
		return false;
	if (m->trigger_qa && m->end != 0) {
		m->trigger_qa = false;
		adapted = true;
		m->adapts++;
		m->cwnd = m->acked;
		clamp(m);
		m->bytes_to_ignore = unacked;
		m->bytes_ignored = 0;
		m->count = 0;
		m->increase = false;
	}
	m->end = now + m->trtt;
	m->acked = 0;
	return adapted;
}

/* Algorithm 3. */
static bool fast_increase(struct model *m, double size, double rtt, bool ecn)
{
	if (rtt <= m->brtt * 1.125 && !ecn) {
		m->count += size;
		if (m->count > m->cwnd || m->increase) {
			m->cwnd += 2 * size;
			m->fasts += !m->increase;
			m->increase = true;
		}
	} else {
		m->count = 0;
		m->increase = false;
	}
	return m->increase;
}

static void fair(struct model *m, double size)
{
	m->cwnd += size / m->cwnd * m->mtu * m->fi;
}

/* Algorithm 1. */
static void core_cases(struct model *m, double now, double size, double rtt, bool ecn)
{
	double cwnd = m->cwnd;

	if (ecn && rtt >= m->trtt) {
		if (now - m->last_decrease < m->brtt || m->avg_rtt <= m->trtt)
			return;
		m->cwnd *= fmax(0.5, 1 - (m->avg_rtt - m->trtt) / m->avg_rtt * 0.8);
		m->last_decrease = now;
		m->decreases++;
	} else if (!ecn && rtt >= m->trtt) {
		fair(m, size);
	} else if (!ecn) {
		fair(m, size);
		m->cwnd += fmin(size, (m->trtt - rtt) / rtt * size / cwnd * m->mtu * m->pi);
	}
}

static bool ignore(struct model *m, double now, double size)
{
	bool before = m->bytes_ignored < m->bytes_to_ignore;

	m->bytes_ignored += size;
	bool after = m->bytes_ignored < m->bytes_to_ignore;
	if (before && !after) {
		m->end = now + m->trtt;
		m->acked = 0;
	}
	return after;
}

/* Algorithm 4. */
void model_ack(struct model *m, double now, double size, double rtt, bool ecn, double unacked)
{
	m->avg_rtt += m->weight * (rtt - m->avg_rtt);
	m->acked += size;
	if (ignore(m, now, size) || quick_adapt(m, now, unacked))
		return;
	if (!fast_increase(m, size, rtt, ecn))
		core_cases(m, now, size, rtt, ecn);
	clamp(m);
}

void model_trim(struct model *m, double now, double size, double unacked)
{
	bool ignored = ignore(m, now, size);

	m->trigger_qa = true;
	if (ignored)
		return;
	m->cwnd -= size;
	clamp(m);
	m->count = 0;
	m->increase = false;
	quick_adapt(m, now, unacked);
}

void model_lose(struct model *m, double now, double size)
{
	if (ignore(m, now, size))
		return;
	m->cwnd -= size;
	m->count = 0;
	m->increase = false;
	clamp(m);
}
