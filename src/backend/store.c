/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Params and states, looked up by name; those that one plan adds are in one block of memory. */
#include "backend/store.h"

#include <string.h>

#include "backend/store_init.h"
#include "backend/transfer.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/round.h"

struct block {
	void *data;
	size_t bytes;
	struct block *next;
};

struct place {
	const char *name;
	void *memory;
	struct place *next;
};

struct store {
	const struct device *dev;
	struct block *block;
	struct arena *arena;
	uint64_t seed;
	struct store_entry **entry;
	int n, cap;
	int *bucket;         /* open addressing by name hash: entry index + 1, 0 empty */
	int nbucket;         /* power of two */
	struct place *place; /* the last one given first */
	uint64_t changes;
	void (*before_update)(void *arg);
	void *before_arg;
};

struct store *store_new(const struct device *dev, uint64_t seed)
{
	struct store *s = mem_calloc(1, sizeof *s);
	s->dev = dev;
	s->changes = 1;
	s->seed = seed;
	s->arena = arena_new();
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (struct block *b = s->block; b; b = b->next)
		device_free(s->dev, b->data, b->bytes);
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

/* The bytes of all params, or of all states. */
static size_t bytes_of(const struct store *s, enum role role)
{
	size_t sum = 0;
	for (int i = 0; i < s->n; i++)
		if (s->entry[i]->role == role)
			sum += s->entry[i]->bytes;
	return sum;
}

void store_place(struct store *s, const char *name, void *memory)
{
	struct place *p = ARENA_NEW(s->arena, struct place);
	*p = (struct place){ arena_strdup(s->arena, name), memory, s->place };
	s->place = p;
}

static void *find_place(const struct store *s, const char *name)
{
	const struct place *p = s->place;
	while (p && strcmp(p->name, name) != 0)
		p = p->next;
	return p ? p->memory : NULL;
}

bool store_is_placed(const struct store *s, const char *name)
{
	return find_place(s, name) != NULL;
}

static void add_entry(struct store *s, const struct tensor *x)
{
	struct store_entry *e = ARENA_NEW(s->arena, struct store_entry);
	*e = (struct store_entry){ .name = arena_strdup(s->arena, x->name), .role = x->role,
		.shape = x->shape, .dtype = x->dtype, .layout = x->layout, .init = x->init, .use = x->use,
		.dev = s->dev, .changes = &s->changes };
	e->bytes = (size_t)layout_elements(&e->layout) * dtype_size(e->dtype);
	e->data = find_place(s, x->name);
	insert(s, e);
}

size_t store_padded(size_t bytes)
{
	return round_up(bytes, 256);
}

/* What a value without a place takes of a block. */
static size_t padded(const struct store_entry *e)
{
	return e->data ? 0 : store_padded(e->bytes);
}

/* Allocates one block for the entries from `first` on that have
 * no place, since huge pages do not fit single tensors. */
static int give_memory(struct store *s, int first)
{
	struct block *b = ARENA_NEW(s->arena, struct block);
	for (int i = first; i < s->n; i++)
		b->bytes += padded(s->entry[i]);
	if (b->bytes == 0)
		return 0;
	char *at = device_alloc(s->dev, b->bytes);
	if (!at)
		return ERR(E_NOMEM, NULL, "no memory for %zu bytes of parameters and %zu bytes of state",
		           bytes_of(s, ROLE_PARAM), bytes_of(s, ROLE_STATE));
	b->data = at;
	b->next = s->block;
	s->block = b;
	for (int i = first; i < s->n; i++) {
		size_t bytes = padded(s->entry[i]);
		if (bytes)
			s->entry[i]->data = at;
		at += bytes;
	}
	device_populate(s->dev, b->data, b->bytes);
	return 0;
}

int store_note(struct store *s, const struct graph *g)
{
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
		add_entry(s, x);
	}
	return 0;
}

int store_add(struct store *s, const struct graph *g)
{
	const int before = s->n;
	TRY(store_note(s, g));
	if (s->n == before)
		return 0;
	TRY(give_memory(s, before));
	s->changes++;
	return store_initialise(s->entry + before, s->n - before, s->seed);
}

int store_begin_again(struct store *s)
{
	for (int i = 0; i < s->n; i++) {
		struct store_entry *e = s->entry[i];
		void *zeros = mem_calloc((size_t)shape_count(&e->shape), dtype_size(e->dtype));
		int rc = store_set(e, e->dtype, zeros);
		mem_free(zeros);
		TRY(rc);
	}
	return store_initialise(s->entry, s->n, s->seed);
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
	return transfer_read(e->dev, &(struct transfer){ &e->layout, &e->shape, e->dtype, e->data },
	                     t, plain);
}

int store_set(struct store_entry *e, enum dtype t, const void *plain)
{
	store_touch(e);
	return transfer_write(e->dev, &(struct transfer){ &e->layout, &e->shape, e->dtype, e->data },
	                      t, plain);
}

size_t store_room(const struct store_entry *e)
{
	const size_t plain = (size_t)shape_count(&e->shape) * dtype_size(e->dtype);
	return e->dev->driver && e->bytes > plain ? e->bytes : plain;
}

int store_get_begin(const struct store_entry *e, void *room)
{
	return e->dev->driver->copy_beside(e->dev, room, e->data, e->bytes);
}

int store_get_end(const struct store_entry *e, void *room)
{
	return transfer_unpack(&(struct transfer){ &e->layout, &e->shape, e->dtype, room });
}

void store_before_update(struct store *s, void (*call)(void *arg), void *arg)
{
	s->before_update = call;
	s->before_arg = arg;
}

void store_meet_update(const struct store *s)
{
	if (s->before_update)
		s->before_update(s->before_arg);
}

uint64_t store_changes(const struct store *s)
{
	return s->changes;
}

void store_touch(struct store_entry *e)
{
	++*e->changes;
}

uint64_t store_touch_all(struct store *s)
{
	return ++s->changes;
}

bool store_is_weight(const struct store_entry *e)
{
	return e->role == ROLE_PARAM || e->use == STATE_OF_NETWORK;
}
