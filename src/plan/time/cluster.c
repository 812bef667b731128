/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cluster file is YAML, read by the tables below; mistakes are reported as those of configs are.
 * A latency that the file leaves out is the nominal one of the link model. */
#include "plan/time/cluster.h"

#include <math.h>

#include "base/err.h"

static const char *const sums_names[] = { "nccl", "mpi", "each", NULL };

#define RATE(s, m, doc_) FIELD_FLOAT(s, m, "0", 0, 1e21, doc_)
#define MAYBE(s, m, lo, hi, doc_) \
	FIELD(s, m, FT_FLOAT, .dflt = "null", .min = lo, .max = hi, .flags = FIELD_NULLABLE, \
	      .doc = doc_)

static const struct field device_fields[] = {
	FIELD_STRING(struct cluster_device, name, NULL, "its name"),
	RATE(struct cluster_device, f32, "published flop/s of products in float32"),
	RATE(struct cluster_device, bits16, "published flop/s of products in 16 bits"),
	RATE(struct cluster_device, bandwidth, "published bytes/s of its memory"),
	FIELD(struct cluster_device, memory, FT_BYTES, .dflt = "0", .max = 0x1p62,
	      .doc = "bytes of its memory; 0: not known"),
	FIELD_END
};

static const struct field link_fields[] = {
	MAYBE(struct cluster_link, latency, 0, 10,
	      "seconds of the shortest message; null: the nominal one"),
	MAYBE(struct cluster_link, bandwidth, 1, 1e15, "bytes/s in each direction"),
	MAYBE(struct cluster_link, reach, 1e-3, 1, "share of 'bandwidth' that sums reach; null: 0.78 "
	      "with 'sums: nccl', 0.9 with mpi, 1 with each"),
	FIELD(struct cluster_link, bytes, FT_FLOATS, .min = 1, .max = 1e12,
	      .doc = "a measured curve: sizes of messages, ascending; in 'inside' of sums over a "
	      "host's ranks"),
	FIELD(struct cluster_link, seconds, FT_FLOATS, .min = 1e-9, .max = 1e6,
	      .doc = "the time of each of these sizes, ascending"),
	FIELD_END
};

static const struct field tier_fields[] = {
	FIELD_SECTION(struct cluster_tiers, inside, link_fields,
	              "link of a device to the others of its host; with 'sums: mpi' the host's memory"),
	FIELD_SECTION(struct cluster_tiers, across, link_fields,
	              "link of a host to other hosts; with 'sums: each' of a rank"),
	FIELD_END
};

static const struct field storage_fields[] = {
	MAYBE(struct cluster_storage, read, 1, 1e18,
	      "bytes/s that all hosts together read of the shared file system"),
	MAYBE(struct cluster_storage, write, 1, 1e15, "bytes/s that a host writes to its own disk"),
	FIELD_END
};

const struct field cluster_fields[] = {
	FIELD_STRING(struct cluster, name, "", "name of the cluster"),
	FIELD_INT(struct cluster, hosts, "", 1, 1e7, "number of hosts"),
	FIELD_INT(struct cluster, ranks, "", 1, 1e4, "ranks of a host, one for each device"),
	FIELD_INT(struct cluster, processors, "1", 1, 1e5,
	          "processors of a host, which determine its memory's nominal rate with 'sums: mpi'"),
	FIELD_ENUM(struct cluster, sums, "nccl", sums_names,
	           "what sums gradients: nccl; mpi: shared memory in a host, MPI between hosts; each: "
	           "every rank over a link of its own, as with DLX_DEBUG=link"),
	FIELD_SECTION(struct cluster, device, device_fields, "the device of a rank, by whose published "
	              "rates kernels are predicted; without it kernels are timed on this machine"),
	FIELD_SECTION(struct cluster, links, tier_fields, "links by tier"),
	MAYBE(struct cluster, noise, 0, 1,
	      "standard deviation of the time of a step's kernels over the ranks, as a share of it"),
	MAYBE(struct cluster, start, 0, 1e6, "seconds from the launch to the first step, without "
	      "staging"),
	FIELD_SECTION(struct cluster, storage, storage_fields, "where data is staged from and to"),
	FIELD_END
};

/* --- checks --- */

static const struct loc *place(const struct ynode *tree, const char *section, const char *tier)
{
	const struct ynode *n = ytree_find(tree, section);
	const struct ypair *p = n && n->kind == Y_MAP ? ytree_pair(n, tier) : NULL;
	return p ? &p->key_loc : n ? &n->loc : &tree->loc;
}

static bool ascends(const struct floats *v)
{
	for (int i = 1; i < v->n; i++)
		if (v->v[i] <= v->v[i - 1])
			return false;
	return true;
}

static int check_link(const struct cluster_link *l, const struct loc *loc, const char *tier)
{
	if (l->bytes.n != l->seconds.n)
		return ERR(E_CONFIG, loc, "'%s' has %d 'bytes' and %d 'seconds'; expected a time for each "
		           "size", tier, l->bytes.n, l->seconds.n);
	if (l->bytes.n == 1 || !ascends(&l->bytes) || !ascends(&l->seconds))
		return ERR(E_CONFIG, loc, "the curve of '%s' must have two points at least, with 'bytes' "
		           "and 'seconds' that ascend", tier);
	return 0;
}

static bool known(const struct cluster_link *l)
{
	return l->bytes.n > 0 || !isnan(l->bandwidth);
}

/* All of its rates, or none. */
static int check_device(const struct cluster_device *d, const struct loc *loc)
{
	const int given = (d->f32 > 0) + (d->bits16 > 0) + (d->bandwidth > 0);
	if (given == 3 || (given == 0 && !d->name))
		return 0;
	return ERR(E_CONFIG, loc, "'device' needs 'f32', 'bits16' and 'bandwidth'");
}

static int check(const struct cluster *c, const struct ynode *tree)
{
	const struct ypair *device = ytree_pair(tree, "device");
	TRY(check_device(&c->device, device ? &device->key_loc : &tree->loc));
	const struct loc *inside = place(tree, "links", "inside"),
	                 *across = place(tree, "links", "across");
	TRY(check_link(&c->links.inside, inside, "inside"));
	TRY(check_link(&c->links.across, across, "across"));
	if (c->ranks > 1 && c->sums == CLUSTER_NCCL && !known(&c->links.inside))
		return ERR(E_CONFIG, inside, "hosts have %lld ranks, so 'links.inside' needs 'bandwidth', "
		           "or a curve", (long long)c->ranks);
	if ((c->hosts > 1 || c->sums == CLUSTER_EACH) && !known(&c->links.across))
		return ERR(E_CONFIG, across, "'links.across' needs 'bandwidth', or a curve");
	return 0;
}

/* --- reading --- */

static double or_nominal(double v, double nominal)
{
	return isnan(v) ? nominal : v;
}

/* What sums reach of a link, by enum cluster_sums: see linkmodel.c. */
static const double reaches[] = { [CLUSTER_NCCL] = 0.78, [CLUSTER_MPI] = 0.9, [CLUSTER_EACH] = 1 };

static struct link link_of(const struct cluster *c, const struct cluster_link *l, double latency,
                           double bandwidth)
{
	return (struct link){ .latency = or_nominal(l->latency, latency),
		.bandwidth = or_nominal(l->bandwidth, bandwidth) * or_nominal(l->reach, reaches[c->sums]),
		.points = l->bytes.n, .bytes = l->bytes.v, .seconds = l->seconds.v };
}

static void settle(struct cluster *c)
{
	const bool nccl = c->sums == CLUSTER_NCCL;
	c->inside = link_of(c, &c->links.inside, nccl ? LINK_NCCL_INSIDE : LINK_HOST_LATENCY,
	                    LINK_HOST_BANDWIDTH * (double)c->processors);
	c->across = link_of(c, &c->links.across, nccl ? LINK_NCCL_ACROSS : LINK_NETWORK_LATENCY, 1);
}

int cluster_load(struct cluster **out, struct arena *a, const char *path)
{
	struct ynode *tree;
	struct cluster *c = ARENA_ARRAY(a, struct cluster, 1);
	TRY(ytree_load(a, path, &tree));
	int rc = schema_read(a, tree, cluster_fields, "a cluster file", &tree->loc, c);
	if (rc == 0)
		rc = check(c, tree);
	TRY(rc);
	c->file = arena_strdup(a, path);
	settle(c);
	*out = c;
	return 0;
}

int cluster_check_ranks(const struct cluster *c, int64_t ranks)
{
	if (ranks <= c->hosts * c->ranks)
		return 0;
	return ERR(E_USAGE, NULL, "%lld ranks: %s has %lld hosts of %lld, for %lld ranks together",
	           (long long)ranks, c->name, (long long)c->hosts, (long long)c->ranks,
	           (long long)(c->hosts * c->ranks));
}

int cluster_hosts(const struct cluster *c, int ranks)
{
	return (int)((ranks + c->ranks - 1) / c->ranks);
}

/* --- predictions --- */

void cluster_linkmodel(struct linkmodel *m, const struct cluster *c, const struct rank_grid *grid,
                       bool exchanged)
{
	if (c->sums == CLUSTER_EACH) {
		linkmodel_of_each(m, grid->ranks, &c->across);
		return;
	}
	*m = (struct linkmodel){ .kind = c->sums == CLUSTER_NCCL ? LINK_GPUS : LINK_HOSTS,
		.hosts = grid->hosts, .ranks = grid->most,
		.shards = grid->shards > 1 ? grid->shards : 1, .exchanged = exchanged,
		.inside = c->inside, .across = c->across, .slower = { 1, 1 } };
}

bool cluster_rates(const struct cluster *c, struct node_rates *out)
{
	const struct cluster_device *d = &c->device;
	if (d->f32 <= 0)
		return false;
	*out = node_rates_of_published(d->f32, d->bits16, d->bandwidth);
	return true;
}

double cluster_noise(const struct cluster *c)
{
	return isnan(c->noise) ? 0 : c->noise;
}
