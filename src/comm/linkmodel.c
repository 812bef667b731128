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

/* LINK_HOST_LATENCY is the time until all ranks of a host have noticed that a sum is complete: a
 * few wake-ups. */
#define NETWORK_BANDWIDTH 11e9
#define ADDING 5e9             /* bytes/s that one processor adds */

#define NCCL_START 8.4e-6
#define NCCL_SHARE 0.78
/* of a GPU that is not known: PCI Express 4, and its host's network */
#define PCIE 20e9

/* --- all-reduces over ranks that have a link each --- */

/* Beyond the last point a message goes on at the rate of the last two. */
static double on_curve(const struct link *l, double n)
{
	int i = 0;
	if (n <= l->bytes[0])
		return l->seconds[0];
	while (i + 2 < l->points && l->bytes[i + 1] < n)
		i++;
	return l->seconds[i] + (n - l->bytes[i]) * (l->seconds[i + 1] - l->seconds[i]) /
	                       (l->bytes[i + 1] - l->bytes[i]);
}

double link_message(const struct link *l, double n)
{
	return l->points ? on_curve(l, n) : l->latency + n / l->bandwidth;
}

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
	return 2 * (p - 1) * link_message(l, n / p) + adding(l, part);
}

double link_doubling(const struct link *l, int p, double n)
{
	return steps_of(p) * (link_message(l, n) + adding(l, n));
}

/* Messages of which each has half the bytes of the one before, and which are n bytes together. */
static double halves(const struct link *l, int steps, double n)
{
	double sum = 0;
	for (int i = 1; i <= steps; i++)
		sum += link_message(l, n * exp2(-i) / (1 - exp2(-steps)));
	return sum;
}

/* If p is no power of two, each rank beyond the largest power first sends its values to another
 * rank, and receives the sum from it at the end. */
double link_halving(const struct link *l, int p, double n)
{
	double part = n * (p - 1) / p;
	double rest = (p & (p - 1)) == 0 ? 0 : 2 * link_message(l, n) + adding(l, n);
	int steps = rest > 0 ? steps_of(p) - 1 : steps_of(p);
	return rest + 2 * halves(l, steps, part) + adding(l, part);
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
	if (m->ranks == 1)
		return 0;
	return m->inside.points ? link_message(&m->inside, bytes) :
	       m->inside.latency + 2 * m->ranks * bytes / m->inside.bandwidth;
}

/* All shards are under way at a time and share their host's link. (A curve is that of a message of
 * all shards, whose bytes are added for one of them.) */
static struct link shard_link(const struct linkmodel *m)
{
	struct link l = m->across;
	if (l.points)
		l.adding *= m->shards;
	else
		l.bandwidth /= m->shards;
	return l;
}

static double part_bytes(const struct linkmodel *m, double bytes)
{
	return m->across.points ? bytes : bytes / m->shards;
}

static double between_hosts(const struct linkmodel *m, double bytes)
{
	struct link l = shard_link(m);
	double part = part_bytes(m, bytes);
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

static double of_each(const struct linkmodel *m, double bytes)
{
	return algorithms[fastest(&m->across, m->hosts, bytes)].seconds(&m->across, m->hosts, bytes);
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
	[LINK_EACH] = of_each,
};

void linkmodel_of_hosts(struct linkmodel *m, int hosts, int ranks, int shards, bool exchanged,
                        int processors)
{
	*m = (struct linkmodel){ .kind = LINK_HOSTS, .hosts = hosts, .ranks = ranks,
		.shards = shards > 1 ? shards : 1,
		.exchanged = exchanged, .inside = { LINK_HOST_LATENCY, LINK_HOST_BANDWIDTH * processors },
		.across = { LINK_NETWORK_LATENCY, NETWORK_BANDWIDTH, ADDING }, .slower = { 1, 1 } };
}

void linkmodel_of_gpus(struct linkmodel *m, int hosts, int ranks, const struct device *d)
{
	const struct gpu_model *g = d->model;
	double link = g ? g->link : PCIE, network = g ? g->network : PCIE;
	*m = (struct linkmodel){ .kind = LINK_GPUS, .hosts = hosts, .ranks = ranks, .shards = ranks,
		.inside = { LINK_NCCL_INSIDE, link * NCCL_SHARE },
		.across = { LINK_NCCL_ACROSS, network * NCCL_SHARE * ranks }, .slower = { 1, 1 } };
}

void linkmodel_flat(struct linkmodel *m, double latency, double bandwidth)
{
	*m = (struct linkmodel){ .kind = LINK_FLAT, .hosts = 2, .ranks = 1, .shards = 1,
		.across = { latency, bandwidth }, .slower = { 1, 1 } };
}

void linkmodel_of_each(struct linkmodel *m, int ranks, const struct link *l)
{
	*m = (struct linkmodel){ .kind = LINK_EACH, .hosts = ranks, .ranks = 1, .shards = 1,
		.across = *l, .slower = { 1, 1 } };
}

double linkmodel_seconds(const struct linkmodel *m, double bytes)
{
	if (m->kind != LINK_FLAT && m->kind != LINK_GPUS && m->hosts * m->ranks <= 1)
		return 0;
	double least = models[m->kind](m, 0);
	return m->slower[0] * least + m->slower[1] * (models[m->kind](m, bytes) - least);
}

/* On a host the receiver reads the message from the sender's memory, where it was packed: what
 * takes time is unpacking, which is the receiving node's, not the link's. */
double linkmodel_message(const struct linkmodel *m, bool on_host, double bytes)
{
	const bool tiers = m->kind == LINK_HOSTS || m->kind == LINK_GPUS,
	           in_place = on_host && m->kind == LINK_HOSTS;
	const struct link *l = on_host && tiers ? &m->inside : &m->across;
	const double least = in_place ? l->latency : link_message(l, 0),
	             rest = in_place ? 0 : link_message(l, bytes) - least;
	return m->slower[0] * least + m->slower[1] * rest;
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
	       algorithms[fastest(&l, m->hosts, part_bytes(m, bytes))].name;
}

/* With a curve, the latency and bandwidth of its ends. */
static struct link slowest(const struct linkmodel *m)
{
	struct link l = m->hosts == 1 ? m->inside : m->across;
	const int n = l.points;
	if (n == 0)
		return l;
	l.latency = l.seconds[0];
	l.bandwidth = (l.bytes[n - 1] - l.bytes[n - 2]) / (l.seconds[n - 1] - l.seconds[n - 2]);
	return l;
}

void linkmodel_text(const struct linkmodel *m, double bytes, struct buf *out)
{
	const struct link l = slowest(m);
	const char *of = m->hosts > 1 ? "of a host" : m->kind == LINK_GPUS ? "of a GPU" :
	                 "of the host's memory";
	buf_printf(out, "%s, %.3g us a message, %.3g GB/s %s", linkmodel_algorithm(m, bytes),
	           1e6 * l.latency * m->slower[0], l.bandwidth / m->slower[1] / 1e9, of);
	if (m->slower[0] != 1 || m->slower[1] != 1)
		buf_puts(out, ", as measured");
}

void linkmodel_json(const struct linkmodel *m, double bytes, struct buf *out)
{
	const struct link l = slowest(m);
	buf_printf(out, "{\"algorithm\": \"%s\", \"latency\": ", linkmodel_algorithm(m, bytes));
	buf_json_double(out, l.latency * m->slower[0]);
	buf_puts(out, ", \"bandwidth\": ");
	buf_json_double(out, l.bandwidth / m->slower[1]);
	buf_puts(out, "}");
}
