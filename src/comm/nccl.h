/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks' GPUs, connected by NCCL: a thread sets the communicator up over MPI while the rank
 * goes on planning. NCCL chooses links and algorithms. The interface exists in every build; a build
 * without NCCL refuses.
 *
 * All-reduces of two communicators may be in flight on a GPU at once, for instance of gradients and
 * of batch statistics, and ranks may start them in different order. That is safe as long as both
 * kernels find room: each kernel waits for its peers on the other GPUs, and a kernel that cannot
 * start until a waiting kernel ends would be a deadlock. So the second communicator is limited to
 * one block, and the first leaves that block a multiprocessor. Everything else that an all-reduce
 * waits for is the same on every rank: the earlier work of its stream, in the order of one plan.
 * Compute kernels end by themselves. So the first unfinished all-reduce of that order has begun on
 * every rank, or will begin, and ends. */
#ifndef DLX_COMM_NCCL_H
#define DLX_COMM_NCCL_H

#include "base/types.h"
#include "comm/comm.h"

struct device;
struct nccl;

/* Collective. Begins to connect the GPUs of c's ranks, of which d is this one's; d and c outlive
 * it. E_UNAVAILABLE, on all ranks: no library, or two ranks have one GPU, with the ranks, the host
 * and the remedies. other: the first communicator of the process, which is closed after this one;
 * NULL: this is the first. */
int nccl_open(struct nccl **out, struct comm *c, const struct device *d, struct nccl *other);
/* Collective. Until they are connected, or comm's deadline; at once if they are. */
int nccl_ready(struct nccl *n);
/* Collective, when the device has finished; NULL is fine. */
void nccl_close(struct nccl *n);

/* Gives the stream a sum in place over all ranks: count values of F32, F16, BF16 or F64. */
int nccl_sum(struct nccl *n, void *p, int64_t count, enum dtype t, void *stream);
/* Gives the stream an exchange of n float32, cut into shards of `each`, of which rank q has number
 * q (the last ones may be short, or empty). deal: this rank's shard of p of each other rank q comes
 * to parts + q * each. collect: the shards of all come into p, this rank's from there. */
int nccl_share(struct nccl *n, const float *p, int64_t count, int64_t each, float *parts,
               void *stream);
int nccl_collect(struct nccl *n, float *p, int64_t count, int64_t each, void *stream);
/* An error that NCCL has reported since, as text; NULL: none. */
const char *nccl_trouble(struct nccl *n);
/* Aborts all-reduces in flight, also those of the process's other communicator,
 * and waits until the GPU is idle; no all-reduce is possible after that. If
 * even that takes too long, prints report and ends the process. */
void nccl_abort(struct nccl *n, const char *report);

#endif
