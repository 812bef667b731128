/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table whose keys are the bytes of the problem. Entries are never removed, since a process
 * plans only a few networks. Code is generated for all of a plan at once: each of oneDNN's
 * generators is serial, but several can run in parallel. */
#include "backend/dnn/dnn_code.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct slot {
	uint64_t hash;
	size_t n;                        /* 0: free */
	void *key;
	struct dnn_code *code;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked;            /* some code */
	struct slot *slot;               /* open addressing */
	size_t nslot, used;              /* nslot: a power of two */
	struct dnn_code *first;          /* all code, newest first */
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER };

static struct slot *probe(const void *key, size_t n, uint64_t hash)
{
	size_t mask = cache.nslot - 1, i = (size_t)hash & mask;
	for (; cache.slot[i].n; i = (i + 1) & mask)
		if (cache.slot[i].hash == hash && cache.slot[i].n == n &&
		    memcmp(cache.slot[i].key, key, n) == 0)
			break;
	return &cache.slot[i];
}

static void grow(void)
{
	struct slot *old = cache.slot;
	size_t n = cache.nslot;
	cache.nslot = n ? 2 * n : 256;
	cache.slot = mem_calloc(cache.nslot, sizeof *cache.slot);
	for (size_t i = 0; i < n; i++)
		if (old[i].n)
			*probe(old[i].key, old[i].n, old[i].hash) = old[i];
	mem_free(old);
}

/* The slot of this key, or a free one if the key is new. Call with the lock held. */
static struct slot *slot_of(const void *key, size_t n, uint64_t hash)
{
	if (2 * (cache.used + 1) > cache.nslot)
		grow();
	return probe(key, n, hash);
}

static void occupy(struct slot *s, const void *key, size_t n, uint64_t hash, struct dnn_code *code)
{
	*s = (struct slot){ hash, n, mem_alloc(n), code };
	memcpy(s->key, key, n);
	cache.used++;
}

void dnn_code_alias(const void *key, size_t n, struct dnn_code *code)
{
	uint64_t hash = hash_bytes(key, n, 0);
	pthread_mutex_lock(&cache.lock);
	struct slot *s = slot_of(key, n, hash);
	if (!s->n)
		occupy(s, key, n, hash, code);
	pthread_mutex_unlock(&cache.lock);
}

/* The entry of the key. *mine: it is new, and the caller must query oneDNN. */
static struct dnn_code *claim(const void *key, size_t n, bool *mine)
{
	uint64_t hash = hash_bytes(key, n, 0);
	pthread_mutex_lock(&cache.lock);
	struct slot *s = slot_of(key, n, hash);
	struct dnn_code *code = s->code;
	*mine = !s->n;
	if (*mine) {
		code = mem_calloc(1, sizeof *code);
		code->next = cache.first;
		cache.first = code;
		occupy(s, key, n, hash, code);
	}
	while (!*mine && !code->asked)
		pthread_cond_wait(&cache.asked, &cache.lock);
	pthread_mutex_unlock(&cache.lock);
	return code;
}

struct dnn_code *dnn_code_get(const void *key, size_t n, dnn_ask *ask, const void *question)
{
	bool mine;
	struct dnn_code *code = claim(key, n, &mine);
	if (!mine)
		return code;
	code->status = ask(question, &code->pd);
	pthread_mutex_lock(&cache.lock);
	code->asked = true;
	pthread_cond_broadcast(&cache.asked);
	pthread_mutex_unlock(&cache.lock);
	return code;
}

/* Collects the primitives that want code into *list; returns their number. */
static int collect(struct dnn_code ***list)
{
	int n = 0, k = 0;
	for (struct dnn_code *c = cache.first; c; c = c->next)
		n += c->wanted && !c->prim;
	*list = mem_alloc(sizeof **list * ((size_t)n + 1));
	for (struct dnn_code *c = cache.first; c; c = c->next)
		if (c->wanted && !c->prim)
			(*list)[k++] = c;
	return n;
}

dnnl_status_t dnn_code_generate(void)
{
	struct dnn_code **list;
	int n = collect(&list), bad = dnnl_success;
#pragma omp parallel for schedule(dynamic) if (n > 1)
	for (int i = 0; i < n; i++) {
		dnnl_status_t st = dnnl_primitive_create(&list[i]->prim, list[i]->pd);
		if (st != dnnl_success) {
#pragma omp atomic write
			bad = st;
		}
	}
	mem_free(list);
	return (dnnl_status_t)bad;
}
