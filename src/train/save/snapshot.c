/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/save/snapshot.h"

#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/round.h"
#include "optim/optim.h"

#define ALIGN 64

struct snapshot {
	struct session *s;
	char *memory;
	size_t bytes;
	struct ckpt_tensor *tensor;    /* data in memory */
	const struct store_entry **entry;
	struct arena *a;               /* of names */
	int n;
	double waited;

	pthread_mutex_t mutex;         /* guards the rest */
	pthread_cond_t copied;
	bool filling;                  /* a copy is under way, or will be */
	int rc;                        /* of the last copy */
};

struct snapshot *snapshot_new(struct session *s)
{
	struct snapshot *p = mem_calloc(1, sizeof *p);
	p->s = s;
	p->a = arena_new();
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->copied, NULL);
	return p;
}

static void settle(void *arg)
{
	snapshot_settle(arg);
}

/* A GPU copies to pinned memory alone while it computes. */
static void *give_memory(const struct device *d, size_t bytes)
{
	return d->driver ? d->driver->alloc_host(d, bytes) : mem_map(bytes);
}

static void free_memory(const struct device *d, void *memory, size_t bytes)
{
	if (d->driver)
		d->driver->free_host(d, memory, bytes);
	else
		mem_unmap(memory, bytes);
}

static void forget(struct snapshot *p)
{
	if (p->memory)
		free_memory(p->s->dev, p->memory, p->bytes);
	mem_free(p->tensor);
	mem_free(p->entry);
	p->memory = NULL;
	p->tensor = NULL;
	p->entry = NULL;
	p->bytes = 0;
	p->n = 0;
}

void snapshot_free(struct snapshot *p)
{
	if (!p)
		return;
	store_before_update(p->s->store, NULL, NULL);
	pthread_mutex_destroy(&p->mutex);
	pthread_cond_destroy(&p->copied);
	forget(p);
	arena_free(p->a);
	mem_free(p);
}

static size_t room(const struct store_entry *e)
{
	return round_up(store_room(e), ALIGN);
}

/* Averages stand for their parameters, as in an export. */
static const char *plain_name(const struct snapshot *p, const struct store_entry *e)
{
	const char *leaf = strrchr(e->name, '.');
	if (store_is_weight(e)) {
		const char *average = arena_printf(p->a, "%s." AVERAGE_LEAF, e->name);
		return e->role == ROLE_PARAM && store_find(p->s->store, average) ? NULL : e->name;
	}
	if (!leaf || strcmp(leaf + 1, AVERAGE_LEAF) != 0)
		return NULL;
	return arena_printf(p->a, "%.*s", (int)(leaf - e->name), e->name);
}

/* Entries are in order of first use, so that versions list tensors as the network does. */
static int reserve(struct snapshot *p)
{
	const struct store *store = p->s->store;
	const int count = store_count(store);
	if (p->memory)
		return 0;
	p->tensor = mem_calloc((size_t)count + 1, sizeof *p->tensor);
	p->entry = mem_calloc((size_t)count + 1, sizeof *p->entry);
	for (int i = 0; i < count; i++)
		if (state_is_kept(store_at(store, i)->use)) {
			p->entry[p->n++] = store_at(store, i);
			p->bytes += room(store_at(store, i));
		}
	p->bytes += !p->bytes;
	p->memory = give_memory(p->s->dev, p->bytes);
	if (!p->memory) {              /* the next save tries again */
		const size_t bytes = p->bytes;
		forget(p);
		return ERR(E_NOMEM, NULL, "no memory to stage a checkpoint of %zu bytes", bytes);
	}
	char *at = p->memory;
	for (int i = 0; i < p->n; i++) {
		const struct store_entry *e = p->entry[i];
		p->tensor[i] = (struct ckpt_tensor){ e->name, e->dtype, e->shape, at, store_is_weight(e),
			plain_name(p, e) };
		at += room(e);
	}
	return 0;
}

/* Whether only updates write it, which with a gradient lag is not all that is of training. */
static bool can_wait(const struct snapshot *p, const struct store_entry *e)
{
	return p->s->config->parallel.gradient_lag == 0 &&
	       (e->role == ROLE_PARAM || e->use == STATE_OF_TRAINING);
}

static int get(const struct store_entry *e, void *to)
{
	return store_get(e, e->dtype, to);
}

static int copy(struct snapshot *p, bool waiting,
                int (*one)(const struct store_entry *e, void *to))
{
	for (int i = 0; i < p->n; i++)
		if (can_wait(p, p->entry[i]) == waiting)
			TRY(one(p->entry[i], (void *)(uintptr_t)p->tensor[i].data));
	return 0;
}

/* What a GPU copies during its next step, it begins at once. */
static int begin(struct snapshot *p)
{
	const struct device *d = p->s->dev;
	TRY(copy(p, false, get));
	const int rc = d->driver ? copy(p, true, store_get_begin) : 0;
	if (rc < 0)
		d->driver->copy_wait(d);       /* the memory is to be free for the next save */
	return rc;
}

static int finish(struct snapshot *p)
{
	const struct device *d = p->s->dev;
	if (!d->driver)
		return copy(p, true, get);
	TRY(d->driver->copy_wait(d));
	return copy(p, true, store_get_end);
}

static int fill(void *arg)
{
	struct snapshot *p = arg;
	const int rc = finish(p);
	pthread_mutex_lock(&p->mutex);
	p->filling = false;
	p->rc = rc;
	pthread_cond_broadcast(&p->copied);
	pthread_mutex_unlock(&p->mutex);
	return rc;
}

int snapshot_await(void *arg)
{
	struct snapshot *p = arg;
	pthread_mutex_lock(&p->mutex);
	while (p->filling)
		pthread_cond_wait(&p->copied, &p->mutex);
	const int rc = p->rc;
	pthread_mutex_unlock(&p->mutex);
	return rc < 0 ? ERR(rc, NULL, "the state could not be copied") : 0;
}

int snapshot_take(struct snapshot *p, struct ckpt_state *state)
{
	TRY(reserve(p));
	TRY(begin(p));
	store_before_update(p->s->store, settle, p);
	p->waited = 0;
	p->filling = true;             /* no thread but this one is there to see it */
	state->tensor = p->tensor;
	state->ntensors = p->n;
	state->fill = fill;
	state->fill_arg = p;
	return 0;
}

double snapshot_settle(struct snapshot *p)
{
	if (!p)
		return 0;
	pthread_mutex_lock(&p->mutex);
	if (p->filling) {
		const double start = io_seconds();
		while (p->filling)
			pthread_cond_wait(&p->copied, &p->mutex);
		p->waited += io_seconds() - start;
	}
	pthread_mutex_unlock(&p->mutex);
	return p->waited;
}
