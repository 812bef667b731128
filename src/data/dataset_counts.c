/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the bytes read and decoded for samples of a set, by all decode threads. */
#include <stdatomic.h>

#include "base/mem.h"
#include "data/dataset_files.h"

struct data_counts {
	_Atomic int64_t read, decoded;
};

struct data_counts *data_counts_new(void)
{
	return mem_calloc(1, sizeof(struct data_counts));
}

void data_counts_free(struct data_counts *c)
{
	mem_free(c);
}

void data_counts_add(struct data_counts *c, struct data_bytes b)
{
	atomic_fetch_add(&c->read, b.read);
	atomic_fetch_add(&c->decoded, b.decoded);
}

struct data_bytes dataset_bytes(const struct dataset *d)
{
	struct data_counts *c = d->counts;
	return (struct data_bytes){ atomic_load(&c->read), atomic_load(&c->decoded) };
}
