/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks' GPUs, connected by NCCL: set up over MPI by a thread of its own, while the rank goes
 * on planning. Which links it uses, and whether sums go flat or by hosts, is NCCL's choice. There
 * in every build; one without NCCL refuses.
 *
 * Sums of two communicators may be under way on a GPU at once, for instance those of gradients and
 * of batch statistics, and on one rank the one may come first that comes second on another. That is
 * safe as long as both kernels find room: each waits for its equals on the other GPUs, and a kernel
 * that cannot start until one ends that waits in turn would be the end. So the second communicator
 * is kept to one block, and the first leaves that block a multiprocessor. All else that a sum waits
 * for is the same
 * on every rank: what the streams were given before it, in the order of one plan. A kernel of
 * computation ends by itself. So the first sum of that order that is not done has begun on every
 * rank, or will, and ends. */
#ifndef DLX_COMM_NCCL_H
#define DLX_COMM_NCCL_H

#include "base/types.h"
#include "comm/comm.h"

struct device;
struct nccl;

/* Collective. Begins to connect the GPUs of c's ranks, of which d is this one's; d and c outlive
 * it. E_UNAVAILABLE, on all ranks: no library, or two ranks have one GPU, with the ranks, the host
 * and the remedies. Where d->nccl is there it becomes the second communicator of the process, which
 * is closed before the first. */
int nccl_open(struct nccl **out, struct comm *c, struct device *d);
/* Collective. Until they are connected, or comm's deadline; at once if they are. */
int nccl_ready(struct nccl *n);
/* Collective, when the device has finished; NULL is fine. */
void nccl_close(struct nccl *n);

/* Gives the stream a sum in place over all ranks: count values of F32, F16, BF16 or F64. */
int nccl_sum(struct nccl *n, void *p, int64_t count, enum dtype t, void *stream);
/* Gives the stream an exchange of n float32, cut into shards of `each`, of which rank q has number
 * q (the last ones may be short, or empty). deal: this rank's shard of p of each other rank q comes
 * to parts + q * each. collect: the shards of all come into p, this rank's from there. */
int nccl_deal(struct nccl *n, const float *p, int64_t count, int64_t each, float *parts, void *stream);
int nccl_collect(struct nccl *n, float *p, int64_t count, int64_t each, void *stream);
/* What NCCL has found wrong since, for people; NULL: nothing. */
const char *nccl_trouble(struct nccl *n);
/* Ends sums that are under way, also of the process's other communicator, and waits until the GPU is
 * at rest; nothing can be summed after that. report is printed, and the process ends, should even
 * that take too long. */
void nccl_abort(struct nccl *n, const char *report);

#endif
