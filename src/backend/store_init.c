/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initial values. They are drawn by row-major logical index, so that layout and backend do not
 * change them, and the index of each value in the random sequence is known: all tensors are cut
 * into pieces that threads draw in any order. */
#include "backend/store_init.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"

/* values that one thread draws at a time, or a whole block of rows up to the larger */
#define PIECE (1 << 16)
#define LARGE (1 << 22)
#define RUN 512                  /* values drawn at a time, to stay in the cache; even */
/* from row to row of those that are drawn together: not a power of two */
#define STEP (RUN + 18)

struct piece {
	const struct store_entry *e;
	void *to;                    /* the whole tensor in the host's memory */
	int64_t first, n;
	int64_t group, row;          /* groups of rows this long, whose values are adjacent */
};

static bool zero(const struct init *i)
{
	return i->kind == INIT_CONSTANT && i->a == 0;
}

/* v[i] = a (v[i] + b), in float too. */
SIMD_CLONES(void, scale, (double *restrict v, int64_t n, double a, double b, float *restrict f),
            (v, n, a, b, f))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		v[i] = a * (v[i] + b);
		f[i] = (float)v[i];
	}
}

/* The n values from the even index `first` on. */
static void draw(const struct init *init, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                 double *v, float *f)
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

struct drawing {
	const struct piece *p;
	uint64_t seed, stream;
	struct layout_walk walk;
	double v[RUN + 2];
	float f[LAYOUT_ROWS * STEP];     /* a row's values begin at its second place: an odd one brings
	                                  * its neighbour along */
};

static void draw_run(struct drawing *d, int64_t first, int64_t n)
{
	const struct store_entry *e = d->p->e;
	const bool floats = e->dtype == DTYPE_F32;
	const int64_t odd = first & 1;
	draw(&e->init, d->seed, d->stream, first - odd, n + odd, d->v, d->f);
	layout_walk_pack(&d->walk, e->dtype, d->p->to, first, n, floats ? DTYPE_F32 : DTYPE_F64,
	                 floats ? (const void *)(d->f + odd) : d->v + odd);
}

/* n values of each of `rows` rows, the first of them at `first`. */
static void draw_rows(struct drawing *d, int64_t first, int64_t n, int rows)
{
	const struct store_entry *e = d->p->e;
	for (int r = 0; r < rows; r++) {
		const int64_t at = first + r * d->p->row, odd = at & 1;
		draw(&e->init, d->seed, d->stream, at - odd, n + odd, d->v, d->f + r * STEP + 1 - odd);
	}
	layout_walk_pack_rows(&d->walk, d->p->to, first, n, rows, d->f + 1, STEP);
}

/* Rows that are adjacent are drawn together, so that
 * what neighbours each other is written together. */
static void fill(const struct piece *p, uint64_t seed)
{
	struct drawing d = { .p = p, .seed = seed, .stream = hash_name(p->e->name) };
	bool rows;
	layout_walk_init(&d.walk, &p->e->layout, &p->e->shape, p->e->dtype);
	rows = p->group > p->row && layout_walk_has_rows(&d.walk) &&
	       d.walk.l.dims[0] == p->e->shape.d[0];
	for (int64_t g = 0; g < p->n; g += p->group) {
		const int64_t end = p->n - g < p->group ? p->n - g : p->group;
		for (int64_t i = 0; i < p->row; i += RUN) {
			const int64_t n = p->row - i < RUN ? p->row - i : RUN;
			for (int64_t r = i; r < end && !rows; r += p->row)
				draw_run(&d, p->first + g + r, n);
			if (rows)
				draw_rows(&d, p->first + g + i, n, (int)(end / p->row));
		}
	}
}

/* The first piece. Values that neighbour each other in memory are drawn by one thread: rows of a
 * blocked first axis share cache lines. */
static struct piece cut(const struct store_entry *e, void *to)
{
	const int64_t count = shape_count(&e->shape),
	              all = e->shape.nd ? layout_block(&e->layout, 0) : 1;
	const int64_t block = all % LAYOUT_ROWS ? all : LAYOUT_ROWS;
	struct piece p = { e, to, 0, count < PIECE ? count : PIECE, 0, 0 };
	p.group = p.row = p.n;
	if (block <= 1 || count / e->shape.d[0] * block > LARGE)
		return p;
	p.row = count / e->shape.d[0];
	p.group = p.row * block;
	p.n = p.group < PIECE ? PIECE / p.group * p.group : p.group;
	return p;
}

static int count_pieces(struct store_entry *const *entry, int n)
{
	int64_t sum = 0;
	for (int i = 0; i < n; i++)
		if (!zero(&entry[i]->init))
			sum += shape_count(&entry[i]->shape) / cut(entry[i], NULL).n + 1;
	return (int)sum;
}

static int cut_all(struct store_entry *const *entry, int n, void *const *to, struct piece *out)
{
	int k = 0;
	for (int i = 0; i < n; i++) {
		struct piece p = cut(entry[i], to[i]);
		int64_t left = zero(&entry[i]->init) ? 0 : shape_count(&entry[i]->shape);
		for (; left > 0; left -= p.n, p.first += p.n) {
			bool last = left < p.n;
			if (last && p.row == p.n)
				p.group = p.row = left;
			p.n = last ? left : p.n;
			out[k++] = p;
		}
	}
	return k;
}

static void fill_all(struct store_entry *const *entry, int n, void *const *to, uint64_t seed)
{
	struct piece *piece = mem_alloc(sizeof *piece * (size_t)count_pieces(entry, n));
	int npiece = cut_all(entry, n, to, piece);
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
		return ERR(E_NOMEM, NULL, "no memory on the host for the initial '%s' (%zu bytes)", e->name,
		           e->bytes);
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
