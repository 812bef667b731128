/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time of an all-reduce, as a function of its bytes, of ranks and hosts, and of its algorithm:
 * from the seconds that a message takes to begin, the bytes a second that a link carries, and the
 * bytes a second that are added up.
 *
 * The buckets of gradients follow from this model, and they must be the same on all ranks and in a
 * plan that is made without the ranks. So the model has nominal rates of links, not those that a
 * few messages reached just now. Only if a measurement finds links several times slower or faster
 * is it corrected, by a power of eight. */
#ifndef DLX_COMM_LINKMODEL_H
#define DLX_COMM_LINKMODEL_H

#include "base/buf.h"
#include "comm/comm.h"

struct device;
struct nccl;

struct link {
	double latency;              /* seconds that a message takes at least */
	double bandwidth;            /* bytes/s each way */
	double adding;               /* bytes/s that are summed; 0: concurrently with the message */
};

/* Sums of n bytes over p ranks that have a link each (Thakur, Rabenseifner, Gropp 2005). */
double link_ring(const struct link *l, int p, double n);
/* Each of log2 p messages has all bytes. */
double link_doubling(const struct link *l, int p, double n);
/* Rabenseifner's: a reduce-scatter by halves, then an all-gather. */
double link_halving(const struct link *l, int p, double n);

enum link_kind {
	LINK_FLAT,                   /* latency and bandwidth of `across`, whatever the ranks */
	LINK_HOSTS,                  /* in a host in shared memory, between hosts by MPI */
	LINK_GPUS                    /* by NCCL: rings in hosts, rings or trees between them */
};

struct linkmodel {
	enum link_kind kind;
	int hosts, ranks;            /* ranks: of a host, at most */
	int shards;                  /* parts of an all-reduce between hosts: each local rank has one */
	bool exchanged;              /* between hosts by all-to-all and all-gather:
	                              * 16 bits, or a given order */
	struct link inside, across;  /* of a host; between two of them, `across`
	                              * with all their ranks together */
	double slower[2];            /* measured / nominal cost: of latency, of the rest; 1: not
	                              * measured */
};

/* hosts, ranks, shards as in struct linkmodel; processors: of a host. */
void linkmodel_of_hosts(struct linkmodel *m, int hosts, int ranks, int shards, bool exchanged,
                        int processors);
/* For the GPUs of the model that d is of. */
void linkmodel_of_gpus(struct linkmodel *m, int hosts, int ranks, const struct device *d);
void linkmodel_flat(struct linkmodel *m, double latency, double bandwidth);      /* for tests */

/* Corrects it by sums that are made; collective, under about 100 ms. Nothing in a single host,
 * whose memory is known well enough. */
int linkmodel_measure(struct linkmodel *m, struct comm *c);
/* The same for sums by NCCL on the ranks' GPUs, of which d is this one's; also of one rank. */
int linkmodel_measure_gpus(struct linkmodel *m, struct comm *c, const struct device *d,
                           struct nccl *nccl);
/* Corrects the model by the smallest and the largest all-reduce that were measured. */
void linkmodel_correct(struct linkmodel *m, const double bytes[2], const double seconds[2]);

double linkmodel_seconds(const struct linkmodel *m, double bytes);
/* The algorithm of an all-reduce of this many bytes: "ring", "halving and doubling", ...; on one
 * host "shared memory". */
const char *linkmodel_algorithm(const struct linkmodel *m, double bytes);
void linkmodel_text(const struct linkmodel *m, double bytes, struct buf *out);
/* {"algorithm": ..., "latency": ..., "bandwidth": ...} */
void linkmodel_json(const struct linkmodel *m, double bytes, struct buf *out);

#endif
