/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of growing size by a reducer of its own, which waiting ranks do themselves: what a bucket
 * costs the schedule when nothing else runs. Large sizes are repeated less, and the whole takes no
 * longer than its budget. */
#include <stdlib.h>
#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "base/io.h"
#include "comm/liveness.h"
#include "comm/linkmodel.h"
#include "comm/reducer.h"

#define SMALLEST (4 << 10)     /* bytes; each further point four times as much */
#define POINTS 7               /* sizes, up to 16 MiB */
#define GPU_POINTS LINK_POINTS /* up to 64 MiB: at 16 MiB GPUs are far from their best rate */
#define LEAST_POINTS 5         /* sizes that are always measured, up to 1 MiB */
#define ROOM (64 << 20)        /* larger ones only if the buffers of a host's ranks fit in this */
#define REPEATS 9
#define BUDGET 0.06            /* seconds, of a run's start */
#define CURVE_BUDGET 1.0       /* seconds, of a curve */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int measure(struct reducer *r, const struct device *d, int k, double *median, int repeats)
{
	double t[REPEATS];
	for (int i = 0; i < repeats; i++) {
		int64_t begin = io_nanoseconds();
		reducer_start(r, k);
		TRY(reducer_wait(r, k));
		if (d)
			TRY(d->driver->finish(d));
		t[i] = (double)(io_nanoseconds() - begin) * 1e-9;
	}
	qsort(t, (size_t)repeats, sizeof *t, by_value);
	*median = t[repeats / 2];
	return 0;
}

/* Rank 0 says how often the next size is measured, so that all do the same. */
static int measure_all(struct link_curve *m, struct comm *c, const struct device *d,
                       struct reducer *r, int points, double budget)
{
	double spent = 0, expected = 0;
	for (int k = 0; k < points; k++) {
		int repeats = REPEATS;
		while (repeats > 1 && spent + expected * repeats > budget)
			repeats -= 2;
		if (k >= LEAST_POINTS && spent + expected > budget)
			repeats = 0;
		comm_broadcast(c, &repeats, sizeof repeats, 0, "the cost of all-reduces");
		if (repeats == 0)
			break;
		int64_t begin = io_nanoseconds();
		TRY(measure(r, d, k, &m->seconds[k], repeats));
		spent += (double)(io_nanoseconds() - begin) * 1e-9;
		expected = 4 * m->seconds[k];
		m->n = k + 1;
	}
	comm_broadcast(c, m, sizeof *m, 0, "the cost of all-reduces");
	return 0;
}

static int64_t bytes_of(int k)
{
	return (int64_t)SMALLEST << 2 * k;
}

/* The number of bucket sizes to measure. All ranks get the same, from the fullest host. */
static int points_for(struct comm *c)
{
	double ranks = c->local_size;
	int n = LEAST_POINTS;
	comm_max(c, &ranks, 1, "the ranks of each host");
	while (n < POINTS && (double)bytes_of(n) * ranks <= ROOM)
		n++;
	return n;
}

/* Rank 0's medians. All buckets share the memory of the largest one, since only one all-reduce is
 * in flight. d: the device whose memory is used; NULL: the host's. */
static int take_curve(struct link_curve *out, struct comm *c, const struct device *d,
                      struct nccl *nccl, double budget)
{
	struct reducer_bucket group[GPU_POINTS];
	struct reducer *r = NULL;
	int points = d ? GPU_POINTS : points_for(c);
	size_t bytes = (size_t)bytes_of(points - 1);
	out->n = 0;
	for (int k = 0; k < points; k++) {
		out->bytes[k] = (double)bytes_of(k);
		group[k] = (struct reducer_bucket){ 0, bytes_of(k) / 4, DTYPE_F32,
			"the cost of all-reduces", false };
	}
	const struct reducer_place gpu = { d, c, nccl, true };
	TRY(d ? reducer_new_gpu(&r, &gpu, bytes, group, points) :
	    reducer_new(&r, c, bytes, group, points, false));
	TRY(measure_all(out, c, d, r, points, budget));
	reducer_free(r);
	return 0;
}

static int measure_sums(struct linkmodel *m, struct comm *c, const struct device *d,
                        struct nccl *nccl)
{
	struct link_curve curve;
	TRY(take_curve(&curve, c, d, nccl, BUDGET));
	linkmodel_correct(m, (double[]){ SMALLEST, (double)bytes_of(curve.n - 1) },
	                  (double[]){ curve.seconds[0], curve.seconds[curve.n - 1] });
	return 0;
}

int linkmodel_curve(struct link_curve *out, struct comm *c)
{
	return take_curve(out, c, NULL, NULL, CURVE_BUDGET);
}

int linkmodel_measure(struct linkmodel *m, struct comm *c)
{
	return c->hosts == 1 ? 0 : measure_sums(m, c, NULL, NULL);
}

int linkmodel_measure_gpus(struct linkmodel *m, struct comm *c, const struct device *d,
                           struct nccl *nccl)
{
	return measure_sums(m, c, d, nccl);
}
