/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of the time of an all-reduce as a function of its bytes, the numbers of ranks and hosts,
 * and the algorithm. Its parameters are the latency and bandwidth of links and the rate of
 * additions.
 *
 * The buckets of gradients follow from this model, and they must be the same on all ranks and in a
 * plan that is made without the ranks. So the model uses nominal rates of links rather than
 * measured ones, which vary. Only if a measurement differs by several times are the rates
 * corrected, by a power of eight. */
#ifndef DLX_COMM_LINKMODEL_H
#define DLX_COMM_LINKMODEL_H

#include "base/buf.h"
#include "comm/comm.h"

struct device;
struct nccl;

struct link {
	double latency;              /* seconds of the shortest message */
	double bandwidth;            /* bytes/s each way */
	double adding;               /* bytes/s of additions; 0: they overlap the message and cost
	                              * nothing */
	int points;                  /* of a measured curve; 0: latency and bandwidth determine the
	                              * time */
	const double *bytes, *seconds;   /* the curve's points, both ascending: a message of bytes[i]
	                                  * takes seconds[i]; within a host, an all-reduce of
	                                  * bytes[i] over its ranks. Borrowed */
};

/* The time of a message of n bytes, interpolated between the points of the curve if l has one. */
double link_message(const struct link *l, double n);

/* Sums of n bytes over p ranks that have a link each (Thakur, Rabenseifner, Gropp 2005). */
double link_ring(const struct link *l, int p, double n);
/* Recursive doubling: log2 p messages, each of all n bytes. */
double link_doubling(const struct link *l, int p, double n);
/* Rabenseifner's: a reduce-scatter by halves, then an all-gather. */
double link_halving(const struct link *l, int p, double n);

enum link_kind {
	LINK_FLAT,                   /* latency and bandwidth of `across`, for any number of ranks */
	LINK_HOSTS,                  /* shared memory within hosts, MPI between them */
	LINK_GPUS,                   /* NCCL: rings within hosts, rings or trees between them */
	LINK_EACH                    /* each rank has a link of its own, `across`, to all others: what
	                              * DLX_DEBUG=link simulates */
};

struct linkmodel {
	enum link_kind kind;
	int hosts, ranks;            /* ranks: largest number on a host */
	int shards;                  /* number of parts into which an all-reduce between hosts is
	                              * divided, one for each local rank */
	bool exchanged;              /* between hosts by all-to-all and all-gather, for 16-bit types or
	                              * a fixed order of the sum */
	struct link inside, across;  /* inside: within a host; across: between two hosts, shared by all
	                              * their ranks */
	double slower[2];            /* measured / nominal cost: [0] of latency, [1] of bandwidth and
	                              * additions; 1: not measured */
};

/* hosts, ranks, shards as in struct linkmodel; processors: of a host. */
void linkmodel_of_hosts(struct linkmodel *m, int hosts, int ranks, int shards, bool exchanged,
                        int processors);
/* For GPUs of the same model as d. */
void linkmodel_of_gpus(struct linkmodel *m, int hosts, int ranks, const struct device *d);
void linkmodel_flat(struct linkmodel *m, double latency, double bandwidth);      /* for tests */
/* For ranks that each have the link l. */
void linkmodel_of_each(struct linkmodel *m, int ranks, const struct link *l);
/* The nominal latencies (seconds of a message) of NCCL within a host and between hosts. */
#define LINK_NCCL_INSIDE 3.4e-6
#define LINK_NCCL_ACROSS 14e-6
/* The latency of a sum in a host's shared memory, the bandwidth of memory for each processor, and
 * the latency of a message between hosts, where they are not measured. */
#define LINK_HOST_LATENCY 10e-6
#define LINK_HOST_BANDWIDTH 10e9
#define LINK_NETWORK_LATENCY 2e-6

/* Corrects the model by measured sums; collective, takes less than about 100 ms. Does nothing on a
 * single host, where the nominal rates are accurate enough. */
int linkmodel_measure(struct linkmodel *m, struct comm *c);
/* The same for sums by NCCL on the ranks' GPUs; d is this rank's GPU. Also for one rank. */
int linkmodel_measure_gpus(struct linkmodel *m, struct comm *c, const struct device *d,
                           struct nccl *nccl);
/* The medians of all-reduces of growing size over the ranks of c, which may be a team. Collective;
 * takes about a second. */
#define LINK_POINTS 8
struct link_curve {
	int n;
	double bytes[LINK_POINTS], seconds[LINK_POINTS];
};
int linkmodel_curve(struct link_curve *out, struct comm *c);
/* Corrects the model by the smallest and the largest all-reduce that were measured. */
void linkmodel_correct(struct linkmodel *m, const double bytes[2], const double seconds[2]);

double linkmodel_seconds(const struct linkmodel *m, double bytes);
/* The time of one message from rank to rank, on the same host or between two hosts. */
double linkmodel_message(const struct linkmodel *m, bool on_host, double bytes);
/* The algorithm of an all-reduce of this many bytes: "ring", "halving and doubling", ...; on one
 * host "shared memory". */
const char *linkmodel_algorithm(const struct linkmodel *m, double bytes);
void linkmodel_text(const struct linkmodel *m, double bytes, struct buf *out);
/* {"algorithm": ..., "latency": ..., "bandwidth": ...} */
void linkmodel_json(const struct linkmodel *m, double bytes, struct buf *out);

#endif
