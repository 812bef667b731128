/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Iallreduce, tested by whoever makes progress. 16-bit elements, which MPI cannot add, go as float32 and are rounded
 * once, here. */
#include "comm/across.h"

#include <limits.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/sum.h"
#include "comm/world_mpi.h"

struct across_sum {
	MPI_Request request;
	enum dtype dtype;
	float *wide;                 /* of 16-bit groups */
	void *p;
	int64_t n;
};

struct across {
	MPI_Comm peers;
	struct comm_counts *counts;
	int groups;
	struct across_sum *sum;      /* by group */
};

int across_shards(struct comm *c)
{
	double most[2] = { c->local_size, -c->local_size };
	comm_max(c, most, 2, "the ranks of each host");
	return most[0] == -most[1] ? c->local_size : 1;
}

static bool is_wide(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F64;
}

int across_new(struct across **out, struct comm *c, const int64_t *most, const enum dtype *dtype, int groups, int shards)
{
	bool part = shards > 1 || c->local_rank == 0;
	struct across *a = mem_calloc(1, sizeof *a);
	a->groups = groups;
	a->sum = mem_calloc((size_t)groups + 1, sizeof *a->sum);
	a->counts = &c->state->counts;
	MPI_MUST(Comm_split, c->state->world->all, part ? c->local_rank : MPI_UNDEFINED, c->host, &a->peers);
	for (int k = 0; k < groups; k++) {
		if (most[k] > INT_MAX) {
			across_free(a);
			return ERR(E_UNSUPPORTED, NULL, "a group of %lld elements on a rank is more than MPI can sum at once",
			           (long long)most[k]);
		}
		a->sum[k].dtype = dtype[k];
		if (!is_wide(dtype[k]) && part)
			a->sum[k].wide = mem_alloc((size_t)most[k] * sizeof(float));
	}
	if (!part) {
		across_free(a);
		a = NULL;
	}
	*out = a;
	return 0;
}

void across_free(struct across *a)
{
	if (!a)
		return;
	if (a->peers != mpi.none)
		MPI_MUST(Comm_free, &a->peers);
	for (int k = 0; k < a->groups; k++)
		mem_free(a->sum[k].wide);
	mem_free(a->sum);
	mem_free(a);
}

void across_start(struct across *a, int k, void *p, int64_t n)
{
	struct across_sum *s = &a->sum[k];
	MPI_Datatype type = s->dtype == DTYPE_F64 ? mpi.f64 : mpi.f32;
	s->p = p;
	s->n = n;
	if (s->wide)
		sum_widen(s->dtype, s->wide, p, n);
	a->counts->messages++;
	MPI_MUST(Iallreduce, MPI_IN_PLACE, s->wide ? (void *)s->wide : p, (int)n, type, mpi.sum, a->peers, &s->request);
}

bool across_test(struct across *a, int k)
{
	struct across_sum *s = &a->sum[k];
	int done;
	MPI_MUST(Test, &s->request, &done, MPI_STATUS_IGNORE);
	if (done && s->wide)
		sum_narrow(s->dtype, s->p, s->wide, s->n);
	return done;
}
