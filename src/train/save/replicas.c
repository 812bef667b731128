/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are sent in their stored layouts, which are equal since the ranks have equal plans. If a
 * device has its own memory, values are copied through a buffer. */
#include "train/save/replicas.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "train/run/ranks.h"

/* e's bytes in host memory: in place, or in a copy, for which `room` is allocated. */
static int look(const struct store_entry *e, void **room, void **bytes)
{
	*room = NULL;
	*bytes = e->data;
	if (!e->dev->driver)
		return 0;
	*bytes = *room = mem_alloc(e->bytes);
	return device_get(e->dev, *bytes, e->data, e->bytes);
}

static int broadcast_entry(struct comm *c, struct store_entry *e, int root)
{
	void *room, *bytes;
	int rc = look(e, &room, &bytes);
	store_touch(e);
	comm_broadcast(c, bytes, e->bytes, root, "the parameters of one rank");
	if (room && rc == 0)
		rc = device_put(e->dev, e->data, bytes, e->bytes);
	mem_free(room);
	return rc;
}

int replicas_begin_from(struct comm *c, struct store *s, int root)
{
	int rc = 0;
	for (int i = 0; comm_many(c) && i < store_count(s); i++) {
		struct store_entry *e = store_at(s, i);
		int one = state_is_kept(e->use) ? broadcast_entry(c, e, root) : 0;
		rc = rc ? rc : one;
	}
	return ranks_agree(c, rc, "the parameters of one rank");
}

int replicas_begin(struct comm *c, struct store *s)
{
	return replicas_begin_from(c, s, 0);
}

/* --- running statistics --- */

static bool is_statistic(const struct store_entry *e)
{
	return e->role == ROLE_STATE && e->use == STATE_OF_NETWORK;
}

/* Copies all statistics from v into the store (set), or
 * from the store into v; v NULL: counts them. */
static int walk(struct store *s, double *v, bool set, int64_t *count)
{
	*count = 0;
	for (int i = 0; i < store_count(s); i++) {
		struct store_entry *e = store_at(s, i);
		if (!is_statistic(e))
			continue;
		if (v)
			TRY(set ? store_set(e, DTYPE_F64, v + *count) : store_get(e, DTYPE_F64, v + *count));
		*count += shape_count(&e->shape);
	}
	return 0;
}

static void combine(struct comm *c, double *v, int64_t n, bool average)
{
	if (!average) {
		comm_broadcast(c, v, sizeof *v * (size_t)n, 0, "running statistics");
		return;
	}
	comm_sum(c, v, n, "running statistics");
	for (int64_t i = 0; i < n; i++)
		v[i] /= c->size;
}

int replicas_average(struct comm *c, struct store *s, bool average)
{
	int64_t n;
	if (!comm_many(c))
		return 0;
	TRY(walk(s, NULL, false, &n));
	if (n == 0)
		return 0;
	double *v = mem_alloc(sizeof *v * (size_t)n);
	int rc = walk(s, v, false, &n);
	combine(c, v, n, average);
	if (rc == 0)
		rc = walk(s, v, true, &n);
	mem_free(v);
	return rc;
}

/* --- comparing replicas --- */

static int hash_params(const struct store *s, uint64_t *hash, int *n)
{
	*n = 0;
	for (int i = 0; i < store_count(s); i++) {
		const struct store_entry *e = store_at(s, i);
		void *room, *bytes;
		if (e->role != ROLE_PARAM)
			continue;
		int rc = look(e, &room, &bytes);
		hash[(*n)++] = rc == 0 ? hash_bytes(bytes, e->bytes, 0) : 0;
		mem_free(room);
		TRY(rc);
	}
	return 0;
}

static const char *param_name(const struct store *s, int k)
{
	int i = 0;
	while (store_at(s, i)->role != ROLE_PARAM || k-- > 0)
		i++;
	return store_at(s, i)->name;
}

/* Parameter k of all ranks, whose hashes are a row of n each. */
static int compare_param(const struct comm *c, const struct store *s, const uint64_t *all,
                         int n, int k)
{
	uint64_t *one = mem_calloc((size_t)c->size, sizeof *one);
	struct buf who = BUF_INIT;
	int rc = 0, differ = 0;
	for (int r = 0; r < c->size; r++)
		one[r] = all[r * n + k];
	int most = ranks_majority(one, sizeof *one, c->size);
	for (int r = 0; r < c->size; r++)
		if (one[r] != one[most])
			buf_printf(&who, "%s%d", differ++ ? ", " : "", r);
	if (differ)
		rc = ERR(E_BUG, NULL, "parameter '%s' is not the same on all ranks: rank%s %s differ%s "
		         "from rank %d; this is a bug of dlx, or of the machine's memory", param_name(s, k),
		         differ > 1 ? "s" : "", who.data, differ > 1 ? "" : "s", most);
	buf_release(&who);
	mem_free(one);
	return rc;
}

int replicas_compare(struct comm *c, const struct store *s)
{
	int n;
	if (!comm_many(c))
		return 0;
	uint64_t *mine = mem_calloc((size_t)store_count(s) + 1, sizeof *mine), *all = NULL;
	int rc = hash_params(s, mine, &n);
	if (rc == 0) {
		all = mem_calloc((size_t)c->size * (size_t)n + 1, sizeof *all);
		comm_all_gather(c, mine, sizeof *mine * (size_t)n, all, "comparing parameters");
	}
	bool alike = true;
	for (int r = 1; rc == 0 && r < c->size; r++)
		alike = alike && memcmp(all, all + r * n, sizeof *all * (size_t)n) == 0;
	for (int k = 0; rc == 0 && !alike && k < n; k++)
		rc = compare_param(c, s, all, n, k);
	mem_free(all);
	mem_free(mine);
	return alike ? rc : ranks_agree(c, rc, "comparing parameters");
}
