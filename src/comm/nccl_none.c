/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Replaces nccl.c in a build without NCCL: refuses with a sentence. */
#include "base/err.h"
#include "comm/nccl.h"
#include "comm/reducer_nccl.h"

int nccl_open(struct nccl **out, struct comm *c, const struct device *d, struct nccl *other)
{
	return comm_agree(c, ERR(E_UNAVAILABLE, NULL, "this dlx was built without NCCL, which "
	                         "several ranks need to train on GPUs; build it where nccl.h "
	                         "is, or use 'device: cpu'"), "starting NCCL");
}

int nccl_ready(struct nccl *n)
{
	return 0;
}

void nccl_close(struct nccl *n)
{
}

int reducer_nccl_new(struct reducer_nccl **out, const struct reducer_place *where, size_t bytes,
                     const struct reducer_bucket *bucket, int n)
{
	BUG("sums by NCCL in a build without it");
}

int reducer_nccl_new_marks(struct reducer_nccl **out, const struct reducer_place *where,
                           const struct reducer_bucket *bucket, int n)
{
	BUG("messages by NCCL in a build without it");
}

int reducer_nccl_mark(struct reducer_nccl *r, int k, int (*enqueue)(void *argument, void *stream),
                      void *argument, int64_t bytes)
{
	return 0;
}

int nccl_begin(struct nccl *n)
{
	return 0;
}

int nccl_send(struct nccl *n, int peer, const void *p, int64_t count, void *stream)
{
	return 0;
}

int nccl_receive(struct nccl *n, int peer, void *p, int64_t count, void *stream)
{
	return 0;
}

int nccl_end(struct nccl *n)
{
	return 0;
}

size_t reducer_nccl_scratch(const struct reducer_bucket *bucket, int n, int ranks)
{
	return 0;
}

/* No reducer has GPU memory in a build without NCCL. */
void reducer_nccl_free(struct reducer_nccl *r)
{
}

bool reducer_nccl_under_way(const struct reducer_nccl *r, int k)
{
	return false;
}

void *reducer_nccl_memory(const struct reducer_nccl *r)
{
	return NULL;
}

void reducer_nccl_start(struct reducer_nccl *r, int k)
{
}

int reducer_nccl_wait(struct reducer_nccl *r, int k)
{
	return 0;
}

int reducer_nccl_keep(struct reducer_nccl *r)
{
	return 0;
}

struct reducer_stats reducer_nccl_stats(const struct reducer_nccl *r)
{
	return (struct reducer_stats){ 0 };
}
