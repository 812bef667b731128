/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links that were not measured are those of many machines of today: InfiniBand EDR or Slingshot
 * 10 for hosts without GPUs (100 Gbit/s, of which MPI reaches nine tenths, and 2 microseconds),
 * and for GPUs what their maker publishes (backend/cuda/cuda_described.h), with the latencies of
 * NCCL's own model (its src/graph/tuning.cc: 8.4 microseconds for a sum, for each step of a ring
 * 3.4 over NVLink and 14 over a network) and the shares that its sums reach: 235 of 300 GB/s on
 * A100s. */
#include "comm/linkmodel.h"

#include <math.h>

#include "backend/cuda/cuda_described.h"
#include "backend/device.h"

/* seconds until all ranks of a host have noticed that a sum is complete: a few wake-ups */
#define HOST_LATENCY 10e-6
#define HOST_BANDWIDTH 10e9    /* bytes/s of memory bandwidth for each processor */
#define NETWORK_LATENCY 2e-6
#define NETWORK_BANDWIDTH 11e9
#define ADDING 5e9             /* bytes/s that one processor adds */

#define NCCL_START 8.4e-6
#define NCCL_INSIDE 3.4e-6
#define NCCL_ACROSS 14e-6
#define NCCL_SHARE 0.78
/* of a GPU that is not known: PCI Express 4, and its host's network */
#define PCIE 20e9

/* --- all-reduces over ranks that have a link each --- */

static double adding(const struct link *l, double bytes)
{
	return l->adding > 0 ? bytes / l->adding : 0;
}

static int steps_of(int p)
{
	int n = 0;
	while (1 << n < p)
		n++;
	return n;
}

double link_ring(const struct link *l, int p, double n)
{
	double part = n * (p - 1) / p;
	return 2 * (p - 1) * l->latency + 2 * part / l->bandwidth + adding(l, part);
}

double link_doubling(const struct link *l, int p, double n)
{
	return steps_of(p) * (l->latency + n / l->bandwidth + adding(l, n));
}

/* If p is no power of two, each rank beyond the largest power first sends its values to another
 * rank, and receives the sum from it at the end. */
double link_halving(const struct link *l, int p, double n)
{
	double part = n * (p - 1) / p;
	double rest = (p & (p - 1)) == 0 ? 0 : 2 * (l->latency + n / l->bandwidth) + adding(l, n);
	int steps = rest > 0 ? steps_of(p) - 1 : steps_of(p);
	return rest + 2 * steps * l->latency + 2 * part / l->bandwidth + adding(l, part);
}

static const struct {
	const char *name;
	double (*seconds)(const struct link *l, int p, double n);
} algorithms[] = {
	{ "recursive doubling", link_doubling }, { "halving and doubling", link_halving },
	{ "ring", link_ring },
};
#define NALGORITHMS ((int)(sizeof algorithms / sizeof *algorithms))

static int fastest(const struct link *l, int p, double n)
{
	int best = 0;
	for (int i = 1; i < NALGORITHMS; i++)
		if (algorithms[i].seconds(l, p, n) < algorithms[best].seconds(l, p, n))
			best = i;
	return best;
}

/* --- hosts --- */

/* The ranks of a host read all their blocks and write all; what comes from other hosts is among
 * what is written. */
static double in_host(const struct linkmodel *m, double bytes)
{
	return m->ranks == 1 ? 0 : m->inside.latency + 2 * m->ranks * bytes / m->inside.bandwidth;
}

/* All shards are under way at a time and share their host's link. */
static struct link shard_link(const struct linkmodel *m)
{
	struct link l = m->across;
	l.bandwidth /= m->shards;
	return l;
}

static double between_hosts(const struct linkmodel *m, double bytes)
{
	struct link l = shard_link(m);
	double part = bytes / m->shards;
	if (m->hosts == 1)
		return 0;
	if (m->exchanged)
		return link_ring(&l, m->hosts, part);
	return algorithms[fastest(&l, m->hosts, part)].seconds(&l, m->hosts, part);
}

static double of_hosts(const struct linkmodel *m, double bytes)
{
	return in_host(m, bytes) + between_hosts(m, bytes);
}

/* --- GPUs --- */

/* The latency of a tree: its hops follow one another. (NCCL uses a ring through all GPUs, or a tree
 * of hosts with a chain in each host.) */
static double tree_hops(const struct linkmodel *m)
{
	return 2 * (m->ranks - 1) * m->inside.latency + 2 * steps_of(m->hosts) * m->across.latency;
}

static double ring_hops(const struct linkmodel *m)
{
	double all = 2.0 * (m->hosts * m->ranks - 1),
	       across = m->hosts == 1 ? 0 : fmin(all, 2.0 * m->hosts);
	return (all - across) * m->inside.latency + across * m->across.latency;
}

/* Data is sent in pieces, in a pipeline over all links, so the slowest link determines the time. */
static double of_gpus(const struct linkmodel *m, double bytes)
{
	double ranks = (double)m->hosts * m->ranks, hops = fmin(tree_hops(m), ring_hops(m));
	double in = m->ranks == 1 ? INFINITY : m->inside.bandwidth,
	       between = m->hosts == 1 ? INFINITY : m->across.bandwidth;
	double rate = isinf(fmin(in, between)) ? m->inside.bandwidth : fmin(in, between);
	return NCCL_START + hops + 2 * bytes * (ranks - 1) / ranks / rate;
}

static double flat(const struct linkmodel *m, double bytes)
{
	return m->across.latency + bytes / m->across.bandwidth;
}

/* --- the model --- */

static double (*const models[])(const struct linkmodel *m, double bytes) = {
	[LINK_FLAT] = flat, [LINK_HOSTS] = of_hosts, [LINK_GPUS] = of_gpus,
};

void linkmodel_of_hosts(struct linkmodel *m, int hosts, int ranks, int shards, bool exchanged,
                        int processors)
{
	*m = (struct linkmodel){ .kind = LINK_HOSTS, .hosts = hosts, .ranks = ranks,
		.shards = shards > 1 ? shards : 1,
		.exchanged = exchanged, .inside = { HOST_LATENCY, HOST_BANDWIDTH * processors, 0 },
		.across = { NETWORK_LATENCY, NETWORK_BANDWIDTH, ADDING }, .slower = { 1, 1 } };
}

void linkmodel_of_gpus(struct linkmodel *m, int hosts, int ranks, const struct device *d)
{
	const struct gpu_model *g = d->model;
	double link = g ? g->link : PCIE, network = g ? g->network : PCIE;
	*m = (struct linkmodel){ .kind = LINK_GPUS, .hosts = hosts, .ranks = ranks, .shards = ranks,
		.inside = { NCCL_INSIDE, link * NCCL_SHARE, 0 },
		.across = { NCCL_ACROSS, network * NCCL_SHARE * ranks, 0 }, .slower = { 1, 1 } };
}

void linkmodel_flat(struct linkmodel *m, double latency, double bandwidth)
{
	*m = (struct linkmodel){ .kind = LINK_FLAT, .hosts = 2, .ranks = 1, .shards = 1,
		.across = { latency, bandwidth, 0 }, .slower = { 1, 1 } };
}

double linkmodel_seconds(const struct linkmodel *m, double bytes)
{
	if (m->kind == LINK_HOSTS && m->hosts * m->ranks <= 1)
		return 0;
	double least = models[m->kind](m, 0);
	return m->slower[0] * least + m->slower[1] * (models[m->kind](m, bytes) - least);
}

/* The next power of eight: a model that is right within a factor of 2.8 stays as it is. */
static double coarse(double ratio)
{
	return ratio > 0 ? pow(8, round(log(ratio) / log(8))) : 1;
}

void linkmodel_correct(struct linkmodel *m, const double bytes[2], const double seconds[2])
{
	m->slower[0] = m->slower[1] = 1;
	double small = linkmodel_seconds(m, bytes[0]), large = linkmodel_seconds(m, bytes[1]);
	if (small <= 0 || large <= small)
		return;
	m->slower[0] = coarse(seconds[0] / small);
	m->slower[1] = coarse((seconds[1] - seconds[0]) / (large - small));
}

/* --- printing --- */

const char *linkmodel_algorithm(const struct linkmodel *m, double bytes)
{
	struct link l = shard_link(m);
	if (m->kind == LINK_GPUS)
		return m->hosts == 1 || ring_hops(m) <= tree_hops(m) ? "ring" : "tree";
	if (m->hosts == 1)
		return "shared memory";
	return m->exchanged ? "all-to-all and all-gather" :
	       algorithms[fastest(&l, m->hosts, bytes / m->shards)].name;
}

static const struct link *slowest(const struct linkmodel *m)
{
	return m->hosts == 1 ? &m->inside : &m->across;
}

void linkmodel_text(const struct linkmodel *m, double bytes, struct buf *out)
{
	const struct link *l = slowest(m);
	const char *of = m->hosts > 1 ? "of a host" : m->kind == LINK_GPUS ? "of a GPU" :
	                 "of the host's memory";
	buf_printf(out, "%s, %.3g us a message, %.3g GB/s %s", linkmodel_algorithm(m, bytes),
	           1e6 * l->latency * m->slower[0], l->bandwidth / m->slower[1] / 1e9, of);
	if (m->slower[0] != 1 || m->slower[1] != 1)
		buf_puts(out, ", as measured");
}

void linkmodel_json(const struct linkmodel *m, double bytes, struct buf *out)
{
	const struct link *l = slowest(m);
	buf_printf(out, "{\"algorithm\": \"%s\", \"latency\": ", linkmodel_algorithm(m, bytes));
	buf_json_double(out, l->latency * m->slower[0]);
	buf_puts(out, ", \"bandwidth\": ");
	buf_json_double(out, l->bandwidth / m->slower[1]);
	buf_puts(out, "}");
}
