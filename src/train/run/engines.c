/* SPDX-License-Identifier: BSD-3-Clause
 *
 * While engines are measured, rank 0 plans before the other ranks, since measurements on two ranks
 * could disagree. */
#include "train/run/engines.h"

#include <string.h>

#include "backend/wisdom.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "comm/comm.h"

#define MEASURING 120          /* seconds, unless DLX_DEBUG says otherwise */

int engines_open(struct wisdom **out, const struct comm *c, const char *path)
{
	struct buf kept = BUF_INIT;
	if (!path)
		return 0;
	struct wisdom *w = *out = wisdom_new();
	const bool chosen = !debug.engines || strcmp(debug.engines, "measured") == 0;
	w->keep = comm_first(c);
	w->measure = chosen && comm_first(c);
	w->path = comm_first(c) ? path : NULL;
	w->seconds = debug.measure_seconds > 0 ? debug.measure_seconds : MEASURING;
	buf_printf(&kept, "%s.compiled", path);
	w->kept = buf_detach(&kept);
	return chosen && comm_first(c) ? wisdom_read(w, path) : 0;
}

/* Broadcasts one text from rank 0. */
static void spread(struct wisdom *w, struct comm *c)
{
	struct buf text = BUF_INIT;
	if (comm_first(c))
		wisdom_print(w, &text);
	int64_t n = (int64_t)text.len;
	comm_broadcast(c, &n, sizeof n, 0, "the choice of engines");
	char *copy = mem_calloc((size_t)n + 1, 1);
	for (int64_t i = 0; i < n && comm_first(c); i++)
		copy[i] = text.data[i];
	comm_broadcast(c, copy, (size_t)n, 0, "the choice of engines");
	if (!comm_first(c) && wisdom_parse(w, copy, "rank 0") < 0)
		BUG("rank 0's wisdom is not understood");
	mem_free(copy);
	buf_release(&text);
	w->measure = false;
	w->told = true;
}

void engines_await(struct wisdom *w, struct comm *c)
{
	if (w && !comm_first(c) && !w->told)
		spread(w, c);
}

/* Once after the plan whose measuring had no more time. */
static void tell_left(struct wisdom *w)
{
	if (w->left)
		note("%d problems take the first engine that the library proposes: measuring engines has "
		     "had its %.3g s; the next run with this file goes on there", w->left, w->seconds);
	w->left = 0;
}

int engines_share(struct wisdom *w, struct comm *c, const char *path)
{
	if (!w)
		return 0;
	tell_left(w);
	if (comm_many(c) && comm_first(c) && !w->told)
		spread(w, c);
	return comm_first(c) ? wisdom_write(w, path) : 0;
}

void engines_close(struct wisdom *w, const char *path)
{
	int mark = err_count();
	if (w && path && wisdom_write(w, path) < 0 && mark == 0)
		warn("'%s' cannot be written: %s", path, err_get(mark)->text);
	err_truncate(mark);
	wisdom_free(w);
}
