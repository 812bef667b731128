/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank notes what it waits for only when it goes to sleep, so that short waits cost nothing. What
 * another rank reads meanwhile may be mixed of two waits: a report is made when ranks have waited
 * for long. */
#include "comm/board.h"

#include <inttypes.h>

static const struct liveness *table(const struct comm *c)
{
	return &comm_whole((struct comm *)c)->state->liveness;
}

static struct liveness_slot *mine(const struct comm *c)
{
	const struct liveness *b = table(c);
	return b->n ? liveness_slot(b, b->me) : NULL;
}

void board_wait(const struct comm *c, enum board_kind kind, const char *name, int rank)
{
	struct liveness_slot *s = mine(c);
	if (!s)
		return;
	liveness_text_set(s->waits_name, name);
	atomic_store_explicit(&s->waits_rank, rank + 1, memory_order_relaxed);
	atomic_store_explicit(&s->waits_for, kind, memory_order_release);
}

void board_go(const struct comm *c)
{
	struct liveness_slot *s = mine(c);
	if (s)
		atomic_store_explicit(&s->waits_for, BOARD_NOTHING, memory_order_relaxed);
}

static int local_of(const struct liveness *b, int rank)
{
	for (int i = 0; i < b->n; i++)
		if (b->rank[i] == rank)
			return i;
	return -1;
}

static void name_end(const struct liveness *b, int rank, struct buf *out)
{
	static const char *const text[] = {
		[SLOT_RUNS] = ", runs", [SLOT_STOPPED] = ", stopped", [SLOT_GONE] = ", ended",
		[SLOT_UNKNOWN] = "",
	};
	int local = local_of(b, rank);
	if (local >= 0)
		buf_printf(out, " (process %" PRId64 "%s)", atomic_load(&liveness_slot(b, local)->pid),
		           text[liveness_state(b, local)]);
	else
		buf_puts(out, " of another host");
}

/* The rank that `rank` waits for, -1 if that is unknown; appends for what. */
static bool follow_one(const struct liveness *b, int rank, const char *before, int *next,
                       struct buf *out)
{
	int local = local_of(b, rank);
	char name[LIVENESS_TEXT];
	if (local < 0)
		return false;
	const struct liveness_slot *s = liveness_slot(b, local);
	enum slot_state state = liveness_state(b, local);
	enum board_kind kind = (enum board_kind)atomic_load_explicit(&s->waits_for,
	                                                             memory_order_acquire);
	if (kind == BOARD_NOTHING || state == SLOT_GONE || state == SLOT_STOPPED)
		return false;
	liveness_text_get(s->waits_name, name);
	*next = atomic_load_explicit(&s->waits_rank, memory_order_relaxed) - 1;
	buf_printf(out, "%s waits for %s'%s'", before, kind == BOARD_SUM ? "the sum of " :
	           kind == BOARD_ROOM ? "room for " : "", name);
	if (*next >= 0)
		buf_printf(out, " %s rank %d", kind == BOARD_SUM ? "with" : kind == BOARD_ROOM ? "to" :
		           "of", *next);
	return true;
}

bool board_follow(const struct comm *c, int rank, struct buf *out)
{
	const struct liveness *b = table(c);
	int next, first = rank, steps = 0;
	if (!follow_one(b, rank, "", &next, out))
		return false;
	while (next >= 0 && next != first && steps++ < b->n) {
		rank = next;
		if (!follow_one(b, rank, ", which", &next, out)) {
			name_end(b, rank, out);
			return true;
		}
	}
	if (next >= 0)
		buf_puts(out, ": they wait for each other");
	return true;
}

int board_reporter(struct comm *c, _Atomic int *own)
{
	struct comm_state *s = comm_whole(c)->state;
	int first = 0, me = comm_whole(c)->rank;
	s->reported = true;
	if (s->liveness.n)
		return s->printer = liveness_reporter(&s->liveness, me);
	atomic_compare_exchange_strong(own, &first, me + 1);
	return s->printer = first ? first - 1 : me;
}
