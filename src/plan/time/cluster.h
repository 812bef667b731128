/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of a cluster, from a file such as configs/cluster/summit.yaml: its hosts, the
 * published rates of their devices, the links by tier, and what start and staging cost. Steps are
 * predicted by it (plan/time/step_time.h). Plans depend on it by the number of ranks on a host, and
 * by the buckets of gradients, which follow from the links if the device has published rates: then
 * it is not this machine's. */
#ifndef DLX_PLAN_CLUSTER_H
#define DLX_PLAN_CLUSTER_H

#include "backend/node_time.h"
#include "comm/linkmodel.h"
#include "plan/sums/rank_grid.h"
#include "yaml/schema.h"

enum cluster_sums { CLUSTER_NCCL, CLUSTER_MPI, CLUSTER_EACH };

struct cluster_device {
	const char *name;
	double f32, bits16, bandwidth;   /* flop/s, bytes/s; 0: not given */
	int64_t memory;                  /* bytes; 0: not given */
};

struct cluster_link {
	double latency, bandwidth;       /* seconds, bytes/s; NaN: not given */
	double reach;                    /* the share of the bandwidth that sums reach; NaN: nominal */
	struct floats bytes, seconds;    /* a measured curve (struct link), or empty */
};

struct cluster_storage {
	double read;                     /* bytes/s that all hosts together read of the shared file
	                                  * system; NaN: not given */
	double write;                    /* bytes/s that one host writes to its own disk; NaN */
};

struct cluster {
	const char *name;
	int64_t hosts, ranks;            /* hosts; ranks (devices) of a host */
	int64_t processors;              /* of a host, for sums in shared memory */
	int sums;                        /* enum cluster_sums */
	struct cluster_device device;
	struct cluster_tiers {
		struct cluster_link inside, across;
	} links;
	double noise;                    /* standard deviation of a rank's time, as a share of it; NaN:
	                                  * not given */
	double start;                    /* seconds until the first step, without staging; NaN */
	struct cluster_storage storage;
	const char *file;
	struct link inside, across;      /* the links by which sums are predicted */
};

extern const struct field cluster_fields[];

/* Reads the file; the memory is in arena a. E_CONFIG with the place of each mistake, E_NOINPUT. */
int cluster_load(struct cluster **out, struct arena *a, const char *path);
/* E_USAGE if the cluster has fewer than this many ranks. */
int cluster_check_ranks(const struct cluster *c, int64_t ranks);
/* The hosts that this many ranks fill. */
int cluster_hosts(const struct cluster *c, int ranks);
/* Sets *m to the link model of the ranks of a grid; exchanged: as in struct linkmodel. */
void cluster_linkmodel(struct linkmodel *m, const struct cluster *c, const struct rank_grid *grid,
                       bool exchanged);
/* The rates that kernels reach on the cluster's device; false if the file has none. */
bool cluster_rates(const struct cluster *c, struct node_rates *out);
/* The spread of the ranks' times; 0 if the file has none. */
double cluster_noise(const struct cluster *c);

#endif
