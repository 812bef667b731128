/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of a rank whose GPU has begun an all-reduce that does not end: which one, NCCL's
 * error, the ranks that are present and missing, and where the missing ones were last seen. The
 * first rank of a host to arrive here reports. Then the all-reduce is aborted; otherwise the host
 * could not wait for the GPU again. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "comm/ranks_text.h"
#include "comm/reducer_nccl_state.h"

static const char *bucket_name(const struct reducer_nccl *r, int64_t k)
{
	return k >= 0 && k < r->buckets ? r->bucket[k].name : "?";
}

static void missing(const struct reducer_nccl *r, int local, struct buf *out)
{
	const struct gpu_slot *s = &r->slot[local];
	char name[160];
	buf_printf(out, "%s%s has not begun it", out->len ? "; " : "",
	           ranks_text_who(r->c, local, name, sizeof name));
	if (atomic_load(&s->begun) > 0)
		buf_printf(out, ", the last it began was '%s' %.1f s ago",
		           bucket_name(r, atomic_load(&s->bucket)),
		           (double)(io_nanoseconds() - atomic_load(&s->since)) * 1e-9);
}

static void held(const struct reducer_nccl *r, struct buf *out)
{
	const struct liveness *b = &r->c->state->liveness;
	char name[160];
	for (int i = 0; i < b->n; i++) {
		enum slot_state s = liveness_state(b, i);
		if (s == SLOT_STOPPED || s == SLOT_GONE)
			buf_printf(out, "%s%s has begun it, but does not go on", out->len ? "; " : "",
			           ranks_text_who(r->c, i, name, sizeof name));
	}
	if (out->len == 0)
		buf_puts(out,
		         r->c->hosts > 1 ? "no rank of this host is missing, but perhaps ranks of others" :
		              "all ranks have begun it");
}

/* Fills `present` with the present ranks, and describes what is wrong with the others. */
static void look_around(const struct reducer_nccl *r, struct buf *present, struct buf *text)
{
	int *here = mem_calloc((size_t)r->c->local_size, sizeof *here), n = 0;
	for (int i = 0; i < r->c->local_size; i++) {
		if (atomic_load(&r->slot[i].begun) >= atomic_load(&gpu_slot(r)->begun))
			here[n++] = comm_rank_of(r->c, i);
		else
			missing(r, i, text);
	}
	if (n == r->c->local_size)
		held(r, text);
	buf_printf(present, n == 1 ? "rank " : "ranks ");
	ranks_text(present, here, n);
	buf_printf(present, " of host %s %s begun it", r->c->host_name, n == 1 ? "has" : "have");
	mem_free(here);
}

static void tell(struct reducer_nccl *r, const char *trouble, struct buf *out)
{
	const struct gpu_slot *s = gpu_slot(r);
	struct buf text = BUF_INIT, present = BUF_INIT;
	uint64_t begun = atomic_load(&s->begun);
	int64_t k = atomic_load(&s->bucket);
	if (begun == atomic_load(&s->done)) {
		buf_printf(out, "NCCL reports, with no sum under way: %s", trouble ? trouble : "nothing");
		return;
	}
	look_around(r, &present, &text);
	buf_printf(out, "the %s '%s' (%s %" PRId64 " of %d, %s %" PRIu64
	           ") is not complete after %.1f s: ", r->marks ? "message" : "sum of",
	           bucket_name(r, k), r->marks ? "node" : "group", k + 1, r->buckets,
	           r->marks ? "message" : "sum", begun,
	           r->watched == begun ? deadline_waited(&r->deadline) : 0);
	if (trouble)
		buf_printf(out, "NCCL reports '%s'; ", trouble);
	buf_printf(out, "%s; %s", text.data, present.data);
	buf_release(&text);
	buf_release(&present);
}

int reducer_nccl_report(struct reducer_nccl *r, const char *trouble)
{
	struct comm_state *s = comm_whole(r->c)->state;
	struct buf text = BUF_INIT;
	int me = comm_whole(r->c)->rank;
	s->printer = s->liveness.n ? liveness_reporter(&s->liveness, me) : me;
	s->reported = true;
	if (s->printer == me)
		tell(r, trouble, &text);
	else
		buf_printf(&text, "the %s '%s' is not complete; rank %d says why",
		           r->marks ? "message" : "sum of",
		           bucket_name(r, atomic_load(&gpu_slot(r)->bucket)), s->printer);
	int rc = ERR(E_UNAVAILABLE, NULL, "%s", text.data);
	nccl_abort(r->nccl, text.data);
	buf_release(&text);
	return rc;
}
