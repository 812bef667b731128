/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Interned strings: a chained hash table that only grows. Names of files, layers and places are
 * few and small, and a place must stay readable for the life of the process. */
#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

struct entry {
	struct entry *next;
	uint64_t hash;
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry **table;
static size_t room, used;   /* room is a power of two */

static void grow(void)
{
	size_t bigger = room ? room * 2 : 256;
	struct entry **t = mem_calloc(bigger, sizeof *t);
	for (size_t i = 0; i < room; i++) {
		for (struct entry *e = table[i], *next; e; e = next) {
			next = e->next;
			e->next = t[e->hash & (bigger - 1)];
			t[e->hash & (bigger - 1)] = e;
		}
	}
	mem_free(table);
	table = t;
	room = bigger;
}

const char *str_intern(const char *s)
{
	size_t n = strlen(s) + 1;
	uint64_t h = hash_bytes(s, n, 0);
	struct entry *e;
	pthread_mutex_lock(&lock);
	if (used >= room)
		grow();
	for (e = table[h & (room - 1)]; e; e = e->next)
		if (e->hash == h && !strcmp(e->text, s))
			break;
	if (!e) {
		e = mem_alloc(sizeof *e + n);
		e->hash = h;
		memcpy(e->text, s, n);
		e->next = table[h & (room - 1)];
		table[h & (room - 1)] = e;
		used++;
	}
	pthread_mutex_unlock(&lock);
	return e->text;
}
