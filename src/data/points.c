/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws points. Candidates are the points of a sequence in the unit cube, mapped to the set.
 * Candidates that are not in a difference of regions are rejected; the others are numbered in the
 * order of the sequence, so that a Sobol sequence covers a difference as evenly as the whole. */
#include "data/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "data/points_parts.h"

#define BLOCK 128                        /* candidates at a time */
/* Most candidates per point, on average: for a config to be accepted, and for a draw, which may
 * need more by bad luck but must end. */
#define TRIES 10000
#define MOST_TRIES 1000000

enum { STREAM_DRAW = 1, STREAM_PICK, STREAM_REALIZATION };

static uint64_t stream_of(const struct point_set *s, uint64_t purpose)
{
	return hash_bytes(s->name, strlen(s->name), purpose);
}

const struct point_set *points_find(const struct points *p, const char *name)
{
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->set[i].name, name) == 0)
			return &p->set[i];
	return NULL;
}

struct strings points_axes(struct arena *a, const struct points *p)
{
	const char **v = ARENA_ARRAY(a, const char *, p->n * POINTS_DIMS + 1);
	int n = 0;
	for (int i = 0; i < p->n; i++)
		for (int k = 0; k < p->set[i].naxes; k++) {
			int same = 0;
			while (same < n && strcmp(v[same], p->set[i].axis[k]) != 0)
				same++;
			if (same == n)
				v[n++] = p->set[i].axis[k];
		}
	return (struct strings){ .n = n, .v = v };
}

/* The range of an axis in one set; false: it does not say it. */
static bool reach(const struct point_set *s, const char *axis, double *low, double *high)
{
	const struct points_geometry *g = s->geometry;
	int k = g ? points_region_axis(&g->body, axis) : -1;
	if (k >= 0) {
		points_region_reach(&g->body, k, low, high);
		return true;
	}
	for (k = 0; k < s->naxes && strcmp(s->axis[k], axis) != 0;)
		k++;
	if (!s->record || k == s->naxes || s->stored == 0)
		return false;
	*low = *high = s->coordinate[k][0];
	for (int64_t i = 1; i < s->stored; i++) {
		*low = fmin(*low, s->coordinate[k][i]);
		*high = fmax(*high, s->coordinate[k][i]);
	}
	return true;
}

bool points_reach(const struct points *p, const char *axis, double *low, double *high)
{
	bool any = false;
	for (int i = 0; i < p->n; i++) {
		double from, to;
		if (!reach(&p->set[i], axis, &from, &to))
			continue;
		*low = any && *low < from ? *low : from;
		*high = any && *high > to ? *high : to;
		any = true;
	}
	return any;
}

int64_t points_in_draw(const struct point_set *s)
{
	return s->by ? s->of : s->count;
}

int64_t points_draw_at(const struct point_set *s, int64_t step)
{
	return s->every > 0 ? step / s->every : 0;
}

/* --- regions --- */

/* Maps a point of the unit cube to the set; returns whether the result is in the set. */
static bool place(const struct points_geometry *g, const double *u, double *x, double *normal)
{
	int face = 0;
	for (int i = 0; i < g->body.naxes; i++)
		normal[i] = 0;
	if (g->on_faces) {
		face = points_faces_map(&g->faces, u, x + g->faces_at, normal + g->faces_at);
		u += points_faces_dims(&g->faces);
	}
	points_region_map(&g->body, u, x);
	for (int i = 0; i < g->body.nfactors; i++) {
		const struct points_factor *f = &g->body.factor[i];
		if (f->kind == FACTOR_ENDS)
			normal[f->axis[0]] = *u < 0.5 ? -1 : 1;
		u += points_factor_dims(f);
	}
	if (!g->rejects)
		return true;
	return (!g->on_faces ||
	        points_faces_hold(&g->faces, face, x + g->faces_at, normal + g->faces_at)) &&
	       !points_region_lacks(&g->body, x);
}

static int nothing_left(const struct point_set *s, int64_t taken, int64_t candidates)
{
	return ERR(E_CONFIG, &s->loc, "nearly nothing of '%s' is left by 'minus': %lld of %lld points "
	           "were rejected; take less away, or write a smaller region", s->name,
	           (long long)(candidates - taken), (long long)candidates);
}

static int draw_region(const struct point_set *s, const struct points_sequence *q, int64_t first,
                       int64_t n, int64_t tries, double *x, double *normals)
{
	const struct points_geometry *g = s->geometry;
	double u[BLOCK * POINTS_DIMS], spare[2][POINTS_DIMS];
	int64_t taken = g->rejects ? 0 : first, candidate = taken;
	while (taken < first + n) {
		const int64_t left = first + n - candidate,
		              block = g->rejects || left > BLOCK ? BLOCK : left;
		if (g->rejects && candidate / tries > taken)
			return nothing_left(s, taken, candidate);
		points_sequence_fill(q, candidate, block, u);
		for (int64_t b = 0; b < block && taken < first + n; b++, candidate++) {
			const int64_t at = (taken - first) * s->naxes;
			taken += place(g, u + b * q->dims, at >= 0 ? x + at : spare[0],
			               at >= 0 && normals ? normals + at : spare[1]);
		}
	}
	return 0;
}

/* --- records --- */

/* The points or realizations of a record are permuted repeatedly, and draws take them in this
 * order, so that none is repeated before all were used. A draw that takes all keeps their own
 * order. The random stream of realizations belongs to the record, so that sets of the same record
 * take matching realizations. */
struct walk {
	int64_t all, each;                   /* of the record, of a draw */
	uint64_t seed, stream;
	int64_t number;                      /* of the permutation that the key is of */
	uint64_t key[2];
};

static struct walk walk_of(const struct point_set *s, uint64_t seed)
{
	if (s->realizations)
		return (struct walk){ s->samples, s->realizations, seed,
			hash_bytes(s->record, strlen(s->record), STREAM_REALIZATION), .number = -1 };
	return (struct walk){ s->stored, points_in_draw(s), seed, stream_of(s, STREAM_DRAW),
		.number = -1 };
}

static int64_t stored_at(struct walk *w, int64_t draw, int64_t i)
{
	const int64_t at = draw * w->each + i;
	if (w->each == w->all)
		return i;
	if (at / w->all != w->number) {
		w->number = at / w->all;
		points_permute_key(w->seed, w->stream, (uint64_t)w->number, 0, w->key);
	}
	return points_permute(at % w->all, w->all, w->key);
}

static void take_stored(const struct point_set *s, const double *v, uint64_t seed, int64_t draw,
                        int64_t first, int64_t n, int stride, double *out)
{
	struct walk w = walk_of(s, seed);
	for (int64_t i = 0; i < n; i++)
		out[i * stride] = v[s->realizations ? first + i : stored_at(&w, draw, first + i)];
}

void points_values(const struct point_set *s, int k, uint64_t seed, int64_t draw, int64_t first,
                   int64_t n, double *out)
{
	const struct point_values *v = &s->values[k];
	struct walk w = walk_of(s, seed);
	const int64_t each = s->realizations ? s->stored : v->each;
	const size_t bytes = (size_t)each * dtype_size(v->dtype);
	for (int64_t i = 0; i < n; i++) {
		const int64_t at = stored_at(&w, draw, first + i);
		if (v->v)
			memcpy(out + i * each, v->v + at * each, sizeof *out * (size_t)each);
		else
			dtype_convert(DTYPE_F64, out + i * each, v->dtype,
			              (const char *)v->raw + (size_t)at * bytes, each);
	}
}

static void begin(struct points_sequence *q, const struct point_set *s, uint64_t seed, int64_t draw)
{
	const struct points_geometry *g = s->geometry;
	q->kind = g->distinct > 0 ? POINTS_GRID : s->draw;
	q->dims = g->dims;
	q->count = points_in_draw(s);
	memcpy(q->grid, g->grid, sizeof q->grid);
	q->seed = seed;
	q->stream = stream_of(s, STREAM_DRAW);
	q->draw = (uint64_t)draw;
	points_sequence_begin(q);
}

int points_check(const struct point_set *s)
{
	struct points_sequence q;
	double x[POINTS_DIMS];
	begin(&q, s, 0, 0);
	return draw_region(s, &q, 0, 1, TRIES, x, NULL);
}

int points_draw(const struct point_set *s, uint64_t seed, int64_t draw, int64_t first, int64_t n,
                double *coordinates, double *normals)
{
	struct points_sequence q;
	BUG_IF(s->count == 0, "a draw of '%s', which has no count", s->name);
	BUG_IF(normals && !s->normals, "normals of '%s'", s->name);
	if (s->record) {
		for (int k = 0; k < s->naxes; k++)
			take_stored(s, s->coordinate[k], seed, draw, first, n, s->naxes, coordinates + k);
		return 0;
	}
	begin(&q, s, seed, draw);
	return draw_region(s, &q, first, n, MOST_TRIES, coordinates, normals);
}

/* --- by residual --- */

static int by_key(const void *x, const void *y)
{
	const struct point_key *a = x, *b = y;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int by_index(const void *x, const void *y)
{
	const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
	return a < b ? -1 : a > b;
}

/* Weighted sampling without replacement (Efraimidis and Spirakis, 2006): each candidate gets an
 * exponentially distributed arrival time whose rate is its score; those that arrive first are
 * selected. */
int points_pick(const struct point_set *s, const double *score, uint64_t seed, int64_t draw,
                struct point_key *work, int64_t *chosen)
{
	const uint64_t stream = stream_of(s, STREAM_PICK);
	const int64_t n = points_in_draw(s);
	double u[BLOCK];
	for (int64_t i = 0; i < n; i++) {
		if (i % BLOCK == 0)
			rng_uniforms(seed, stream, (uint64_t)draw, i, n - i < BLOCK ? n - i : BLOCK, u);
		if (!(score[i] >= 0) || isinf(score[i]))
			return ERR(E_DIVERGED, &s->by_loc, "'%s' is %g at a candidate of '%s'", s->by,
			           score[i], s->name);
		work[i] = (struct point_key){ score[i] > 0 ? -log1p(-u[i % BLOCK]) / score[i] : INFINITY,
			i };
	}
	qsort(work, (size_t)n, sizeof *work, by_key);
	for (int64_t i = 0; i < s->count; i++)
		chosen[i] = work[i].index;
	qsort(chosen, (size_t)s->count, sizeof *chosen, by_index);
	return 0;
}
