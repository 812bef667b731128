/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds samples that two sets share, by the hashes of their values: a hash table has one set's
 * samples, and all samples of the other set are looked up. A sample of a file without hashes equals
 * only the same sample of the same file. */
#include "base/hash.h"
#include "base/mem.h"
#include "data/dataset_files.h"

#define NOT_FOUND (-1)
#define EMPTY (-2)

struct entry {
	uint64_t key;
	int64_t where;                 /* in the other set, or one of the above */
};

struct table {
	struct entry *entry;
	uint64_t mask;
};

static uint64_t key_of(const struct record *r, int64_t i)
{
	const uint64_t *hashes = record_info(r)->hashes;
	return hashes ? hashes[i] :
	                hash_bytes((uint64_t[]){ record_hash(r), (uint64_t)i }, 16, 0);
}

/* The key's entry, or the empty one where it would be: keys are hashes, spread already. */
static struct entry *look_up(const struct table *t, uint64_t key)
{
	uint64_t k = key & t->mask;
	while (t->entry[k].where != EMPTY && t->entry[k].key != key)
		k = (k + 1) & t->mask;
	return &t->entry[k];
}

static struct table table_new(int64_t n)
{
	struct table t = { .mask = 1 };
	while (t.mask < 2 * (uint64_t)n)
		t.mask = 2 * t.mask + 1;
	t.entry = mem_alloc((t.mask + 1) * sizeof *t.entry);
	for (uint64_t k = 0; k <= t.mask; k++)
		t.entry[k].where = EMPTY;
	return t;
}

struct dataset_shared dataset_shared(const struct dataset *d, const struct dataset *other)
{
	struct dataset_shared shared = { 0 };
	struct table t = table_new(d->info.samples);
	for (int f = 0; f < d->n; f++)
		for (int64_t i = d->first[f]; i < d->first[f + 1]; i++) {
			const uint64_t key = key_of(d->file[f], i - d->first[f]);

			*look_up(&t, key) = (struct entry){ key, NOT_FOUND };
		}
	for (int f = 0; f < other->n; f++)
		for (int64_t i = other->first[f]; i < other->first[f + 1]; i++) {
			struct entry *e = look_up(&t, key_of(other->file[f], i - other->first[f]));

			e->where = e->where == NOT_FOUND ? i : e->where;
		}
	for (int f = d->n - 1; f >= 0; f--)
		for (int64_t i = d->first[f + 1] - 1; i >= d->first[f]; i--) {
			const struct entry *e = look_up(&t, key_of(d->file[f], i - d->first[f]));

			if (e->where >= 0)
				shared = (struct dataset_shared){ shared.samples + 1, i, e->where };
		}
	mem_free(t.entry);
	return shared;
}
