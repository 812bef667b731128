/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Params and states: one mapping each, looked up by name. Initial values are drawn per row-major logical index, so
 * that layout and backend do not change them. */
#include "backend/store.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "backend/transfer.h"

struct store {
	struct device *dev;
	struct arena *arena;
	uint64_t seed;
	struct store_entry **entry;
	int n, cap;
	int *bucket;         /* open addressing by name hash: entry index + 1, 0 empty */
	int nbucket;         /* power of two */
};

struct store *store_new(struct device *dev, uint64_t seed)
{
	struct store *s = mem_calloc(1, sizeof *s);
	s->dev = dev;
	s->seed = seed;
	s->arena = arena_new();
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n; i++)
		device_free(s->dev, s->entry[i]->data, s->entry[i]->bytes);
	mem_free(s->entry);
	mem_free(s->bucket);
	arena_free(s->arena);
	mem_free(s);
}

static int *find_slot(const struct store *s, const char *name)
{
	int i = (int)(hash_name(name) & (uint64_t)(s->nbucket - 1));
	while (s->bucket[i] && strcmp(s->entry[s->bucket[i] - 1]->name, name) != 0)
		i = (i + 1) & (s->nbucket - 1);
	return &s->bucket[i];
}

struct store_entry *store_find(const struct store *s, const char *name)
{
	if (!s->nbucket)
		return NULL;
	int at = *find_slot(s, name);
	return at ? s->entry[at - 1] : NULL;
}

static void insert(struct store *s, struct store_entry *e)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->entry = mem_realloc(s->entry, sizeof *s->entry * (size_t)s->cap);
	}
	s->entry[s->n++] = e;
	if (2 * s->n > s->nbucket) {
		mem_free(s->bucket);
		s->nbucket = s->nbucket ? 2 * s->nbucket : 128;
		s->bucket = mem_calloc((size_t)s->nbucket, sizeof *s->bucket);
		for (int i = 0; i < s->n; i++)
			*find_slot(s, s->entry[i]->name) = i + 1;
	} else {
		*find_slot(s, e->name) = s->n;
	}
}

static int initialise(struct store_entry *e, uint64_t seed)
{
	int64_t n = shape_count(&e->shape);
	uint64_t stream = hash_name(e->name);
	if (!e->dev->driver)
		mem_populate(e->data, e->bytes);
	if (e->init.kind == INIT_CONSTANT && e->init.a == 0)
		return 0;                /* fresh memory is zero */
	double *v = mem_alloc(sizeof *v * (size_t)n);
	if (e->init.kind == INIT_UNIFORM)
		rng_uniforms(seed, stream, 0, n, v);
	else if (e->init.kind == INIT_NORMAL)
		rng_normals(seed, stream, 0, n, v);
	for (int64_t i = 0; i < n; i++) {
		switch (e->init.kind) {
		case INIT_CONSTANT: v[i] = e->init.a; break;
		case INIT_UNIFORM: v[i] = e->init.a * (2 * v[i] - 1); break;
		case INIT_NORMAL: v[i] = e->init.a * v[i]; break;
		}
	}
	int rc = store_set(e, DTYPE_F64, v);
	mem_free(v);
	return rc;
}

/* Where each value stands among the random numbers is known, so who draws it does not matter. On a device of its own memory
 * one thread does: there values pass through a buffer, and may fail to. */
static int initialise_from(struct store *s, int first)
{
	int rc = 0;
#pragma omp parallel for schedule(dynamic) reduction(min : rc) if (!s->dev->driver)
	for (int i = first; i < s->n; i++) {
		int one = rc < 0 ? rc : initialise(s->entry[i], s->seed);
		rc = one < rc ? one : rc;
	}
	return rc;
}

static bool persistent(const struct tensor *t)
{
	return t->role == ROLE_PARAM || t->role == ROLE_STATE;
}

void store_preset(const struct store *s, struct graph *g)
{
	for (tid t = 0; t < g->ntensor; t++) {
		struct tensor *x = graph_t(g, t);
		struct store_entry *e = persistent(x) && x->alias == NONE ? store_find(s, x->name) : NULL;
		if (e)
			x->layout = e->layout;
	}
}

static int check_same(const struct store_entry *e, const struct tensor *t)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	if (shape_equal(&e->shape, &t->shape))
		return 0;
	return ERR(E_SHAPE, &t->loc, "'%s' has shape %s here and %s elsewhere", t->name,
	           shape_text(&t->shape, a), shape_text(&e->shape, b));
}

/* Of all params, or all states. */
static size_t bytes_of(const struct store *s, enum role role)
{
	size_t sum = 0;
	for (int i = 0; i < s->n; i++)
		if (s->entry[i]->role == role)
			sum += s->entry[i]->bytes;
	return sum;
}

static int add_entry(struct store *s, const struct tensor *x)
{
	struct store_entry *e = ARENA_NEW(s->arena, struct store_entry);
	*e = (struct store_entry){ .name = arena_strdup(s->arena, x->name), .role = x->role,
		.shape = x->shape, .dtype = x->dtype, .layout = x->layout, .init = x->init, .use = x->use,
		.dev = s->dev };
	e->bytes = (size_t)layout_elements(&e->layout) * dtype_size(e->dtype);
	e->data = device_alloc(s->dev, e->bytes);
	if (!e->data)
		return ERR(E_NOMEM, &x->loc, "no memory for '%s' (%zu bytes), after %zu bytes of parameters "
		           "and %zu bytes of state", x->name, e->bytes, bytes_of(s, ROLE_PARAM),
		           bytes_of(s, ROLE_STATE));
	insert(s, e);
	return 0;
}

int store_add(struct store *s, const struct graph *g)
{
	const int before = s->n;
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if (!persistent(x) || x->alias != NONE)
			continue;
		struct store_entry *e = store_find(s, x->name);
		if (e) {
			TRY(check_same(e, x));
			BUG_IF(!layout_equal(&e->layout, &x->layout), "'%s': two plans, two layouts", x->name);
			continue;
		}
		TRY(add_entry(s, x));
	}
	return initialise_from(s, before);
}

int store_count(const struct store *s)
{
	return s->n;
}

struct store_entry *store_at(const struct store *s, int i)
{
	return s->entry[i];
}

int store_get(const struct store_entry *e, enum dtype t, void *plain)
{
	return transfer_read(e->dev, &(struct transfer){ &e->layout, &e->shape, e->dtype, e->data }, t, plain);
}

int store_set(struct store_entry *e, enum dtype t, const void *plain)
{
	return transfer_write(e->dev, &(struct transfer){ &e->layout, &e->shape, e->dtype, e->data }, t, plain);
}

bool store_is_weight(const struct store_entry *e)
{
	return e->role == ROLE_PARAM || e->use == STATE_OF_NETWORK;
}
