/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initial values. They are drawn by row-major logical index, so that layout and backend do not change them, and where
 * each stands among the random numbers is known: all tensors are cut into pieces that threads draw in any order. */
#include "backend/store_init.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"

#define PIECE (1 << 16)          /* values that one thread draws at a time */
#define RUN 1024                 /* of them in the cache together; even, as rng.h asks */

struct piece {
	const struct store_entry *e;
	void *to;                    /* the whole tensor in the host's memory */
	int64_t first, n;
};

static bool zero(const struct init *i)
{
	return i->kind == INIT_CONSTANT && i->a == 0;
}

/* v[i] = a (v[i] + b), in float too. */
SIMD_CLONES
static void scale(double *restrict v, int64_t n, double a, double b, float *restrict f)
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		v[i] = a * (v[i] + b);
		f[i] = (float)v[i];
	}
}

static void draw(const struct init *init, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double *v, float *f)
{
	switch (init->kind) {
	case INIT_UNIFORM:
		rng_uniforms(seed, stream, 0, first, n, v);
		scale(v, n, 2 * init->a, -0.5, f);
		break;
	case INIT_NORMAL:
		rng_normals(seed, stream, 0, first, n, v);
		scale(v, n, init->a, 0, f);
		break;
	case INIT_CONSTANT:
		for (int64_t i = 0; i < n; i++)
			v[i] = 1;
		scale(v, n, init->a, 0, f);
		break;
	}
}

static void fill(const struct piece *p, uint64_t seed)
{
	const struct store_entry *e = p->e;
	const bool floats = e->dtype == DTYPE_F32;
	const uint64_t stream = hash_name(e->name);
	double v[RUN];
	float f[RUN];

	for (int64_t i = 0; i < p->n; i += RUN) {
		int64_t n = p->n - i < RUN ? p->n - i : RUN;
		draw(&e->init, seed, stream, p->first + i, n, v, f);
		layout_pack_part(&e->layout, &e->shape, e->dtype, p->to, p->first + i, n, floats ? DTYPE_F32 : DTYPE_F64,
		                 floats ? (const void *)f : v);
	}
}

static int count_pieces(struct store_entry *const *entry, int n)
{
	int64_t count = 0;
	for (int i = 0; i < n; i++)
		if (!zero(&entry[i]->init))
			count += (shape_count(&entry[i]->shape) + PIECE - 1) / PIECE;
	return (int)count;
}

static void fill_all(struct store_entry *const *entry, int n, void *const *to, uint64_t seed)
{
	int npiece = count_pieces(entry, n), k = 0;
	struct piece *piece = mem_alloc(sizeof *piece * (size_t)npiece);
	for (int i = 0; i < n; i++) {
		int64_t count = zero(&entry[i]->init) ? 0 : shape_count(&entry[i]->shape);
		for (int64_t at = 0; at < count; at += PIECE)
			piece[k++] = (struct piece){ entry[i], to[i], at, count - at < PIECE ? count - at : PIECE };
	}
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < npiece; i++)
		fill(&piece[i], seed);
	mem_free(piece);
}

/* A device with a memory of its own: by way of a copy, a tensor at a time. */
static int fill_device(struct store_entry *e, uint64_t seed)
{
	if (zero(&e->init))
		return 0;
	void *copy = mem_map(e->bytes);
	if (!copy)
		return ERR(E_NOMEM, NULL, "no memory on the host for the initial '%s' (%zu bytes)", e->name, e->bytes);
	fill_all(&e, 1, &copy, seed);
	int rc = device_put(e->dev, e->data, copy, e->bytes);
	mem_unmap(copy, e->bytes);
	return rc;
}

int store_initialise(struct store_entry *const *entry, int n, uint64_t seed)
{
	if (n && entry[0]->dev->driver) {
		for (int i = 0; i < n; i++)
			TRY(fill_device(entry[i], seed));
		return 0;
	}
	void **to = mem_alloc(sizeof *to * (size_t)n);
	for (int i = 0; i < n; i++)
		to[i] = entry[i]->data;
	fill_all(entry, n, to, seed);
	mem_free(to);
	return 0;
}
