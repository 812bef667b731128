/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces between the ranks' GPUs by NCCL. A thread sets the communicator up over MPI while the
 * rank goes on planning. NCCL chooses links and algorithms. In a build without NCCL, nccl_open
 * returns an error.
 *
 * A process may have several communicators. The first is that of gradients, which are summed while
 * kernels run. The others are of batch statistics and of messages between the ranks of a sample,
 * for which the plan waits where it begins them, so at most one of these is in flight on a GPU.
 *
 * So two kernels may be in flight on a GPU at once, and ranks may start them in different order.
 * That is safe as long as both find room: each waits for its peers on the other GPUs, and a kernel
 * that cannot start until a waiting kernel ends would be a deadlock. So all communicators but the
 * first are limited to one block, and the first leaves that block a multiprocessor. Everything else
 * that an all-reduce or a message waits for is the same on every rank: the earlier work of its
 * stream, in the order of one plan. Compute kernels end by themselves. So the first unfinished
 * all-reduce of that order has begun on every rank, or will begin, and ends. */
#ifndef DLX_COMM_NCCL_H
#define DLX_COMM_NCCL_H

#include "base/types.h"
#include "comm/comm.h"

struct device;
struct nccl;

/* Collective. Begins to connect the GPUs of c's ranks; d is this rank's GPU. d and c must live
 * longer than *out. E_UNAVAILABLE, on all ranks: NCCL is missing, or two ranks use the same GPU
 * (the message names the ranks, the host and remedies). first: the first communicator of the
 * process, which must be closed after this one; NULL: this is the first. */
int nccl_open(struct nccl **out, struct comm *c, const struct device *d, struct nccl *first);
/* Collective. Waits until the GPUs are connected, or until c's deadline. */
int nccl_ready(struct nccl *n);
/* Collective, when the device has finished; NULL is fine. */
void nccl_close(struct nccl *n);

/* Enqueues on the stream an all-reduce (sum) in place of `count` values of type F32, F16, BF16 or
 * F64. */
int nccl_sum(struct nccl *n, void *p, int64_t count, enum dtype t, void *stream);
/* Enqueue on the stream the two halves of an all-reduce of `count` float32 in which the caller
 * adds. The array is divided into shards of `each` elements, shard q for rank q (the last ones may
 * be short or empty). nccl_share: sends every other rank its shard of p, and receives this rank's
 * shard of rank q's p at parts + q * each. nccl_collect: an all-gather of the (summed) shards into
 * p; this rank's shard is in p already. */
int nccl_share(struct nccl *n, const float *p, int64_t count, int64_t each, float *parts,
               void *stream);
int nccl_collect(struct nccl *n, float *p, int64_t count, int64_t each, void *stream);
/* Enqueue on the stream messages of `count` float32 to and from rank `peer`. All messages between
 * nccl_begin and nccl_end are sent together; their peers must group them in the same manner. */
int nccl_begin(struct nccl *n);
int nccl_send(struct nccl *n, int peer, const void *p, int64_t count, void *stream);
int nccl_receive(struct nccl *n, int peer, void *p, int64_t count, void *stream);
int nccl_end(struct nccl *n);
/* The text of an asynchronous error that NCCL has reported; NULL: none. */
const char *nccl_trouble(struct nccl *n);
/* Aborts what is in flight, also of the process's other communicators, and waits until the GPU is
 * idle; no all-reduce is possible after that. If even that takes too long, prints report and ends
 * the process. */
void nccl_abort(struct nccl *n, const char *report);

#endif
