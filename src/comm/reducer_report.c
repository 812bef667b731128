/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of a rank that has waited too long for an all-reduce: which one, the ranks that are
 * present and missing, and where the missing ones were last seen. All waiting ranks arrive here at
 * about the same time; the first of a host reports. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "comm/board.h"
#include "comm/ranks_text.h"
#include "comm/reducer_state.h"

static void missing(const struct reducer *r, int local, struct buf *out)
{
	const struct host_rank *n = &r->host.rank[local];
	char name[160];
	int last = atomic_load(&n->last);
	buf_printf(out, "%s%s has not started it", out->len ? "; " : "",
	           ranks_text_who(r->c, local, name, sizeof name));
	if (last > 0)
		buf_printf(out, ", the last it did was '%s' %.1f s ago", r->bucket[last - 1].name,
		           (double)(io_nanoseconds() - atomic_load(&n->since)) * 1e-9);
	struct buf waits = BUF_INIT;
	if (board_follow(r->c, comm_rank_of(r->c, local), &waits))
		buf_printf(out, ", now it%s", waits.data);
	buf_release(&waits);
}

/* All ranks have started, and the sum is not complete: a
 * rank holds a piece, or other hosts are late. */
static void held(const struct reducer *r, int k, struct buf *out)
{
	char name[160];
	for (int i = 0; i < r->host.n; i++) {
		const struct host_rank *n = &r->host.rank[i];
		bool holds = atomic_load(&n->works_on[HOST_THREAD]) == k + 1 ||
		             atomic_load(&n->works_on[HOST_WAITER]) == k + 1;
		enum slot_state s = r->c->state->liveness.n ? liveness_state(&r->c->state->liveness, i) :
		                    SLOT_RUNS;
		if (holds || s == SLOT_STOPPED || s == SLOT_GONE)
			buf_printf(out, "%s%s %s", out->len ? "; " : "",
			           ranks_text_who(r->c, i, name, sizeof name),
			           holds ? "holds a part of it" : "has started it, but does not go on");
	}
	if (out->len == 0)
		buf_puts(out, r->host.rounds > 1 ? "no rank of this host is missing, but ranks of others" :
		              "no rank holds a part of it");
}

int reducer_report(struct reducer *r, int k, int64_t begin)
{
	struct buf text = BUF_INIT, present = BUF_INIT;
	int speaker = board_reporter(r->c, &r->host.head->reporter);
	uint64_t start = host_reducer_started(&r->host, k);
	if (speaker != comm_whole(r->c)->rank)
		return ERR(E_UNAVAILABLE, NULL, "the sum of '%s' is not complete; rank %d says why",
		           r->bucket[k].name, speaker);
	int *here = mem_calloc((size_t)r->host.n, sizeof *here), n = 0;
	for (int i = 0; i < r->host.n; i++) {
		if (host_reducer_starts(&r->host, i, k) >= start)
			here[n++] = comm_rank_of(r->c, i);
		else
			missing(r, i, &text);
	}
	if (n == r->host.n)
		held(r, k, &text);
	ranks_text(&present, here, n);
	ERR(E_UNAVAILABLE, NULL, "the sum of '%s' (group %d of %d, start %" PRIu64
	    ") is not complete after %.1f s: %s; rank%s %s of host %s %s started it", r->bucket[k].name,
	    k + 1, r->buckets, start, (double)(io_nanoseconds() - begin) * 1e-9, text.data,
	    n == 1 ? "" : "s", present.data, r->c->host_name, n == 1 ? "has" : "have");
	buf_release(&text);
	buf_release(&present);
	mem_free(here);
	return E_UNAVAILABLE;
}
