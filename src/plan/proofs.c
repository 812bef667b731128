/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks of one host have the same machine and mostly the same kernels, so one of them proves before
 * the others look into the verdicts that it has kept. */
#include "plan/proofs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/dnn/dnn.h"
#include "backend/exec.h"
#include "backend/proof/passed.h"
#include "backend/proof/verdicts.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"

#define SAID_MOST 64             /* notes */

struct proofs {
	struct verdicts *verdicts;   /* NULL: nothing is proven here */
	int shared;                  /* entries of the list that all ranks have */
	bool impossible;             /* no process can be started, which has been noted */
};

/* --- what is passed over, on all ranks --- */

static void write_passed(struct buf *out, int from)
{
	for (int i = from; i < passed_count(); i++) {
		const struct passed *p = passed_at(i);
		buf_printf(out, "%016" PRIx64 "\t%s\t%s\t%s\n", p->problem, p->impl, p->fault, p->text);
	}
}

static void read_passed(char *text)
{
	for (char *line, *rest; (line = strtok_r(text, "\n", &rest)) != NULL; text = NULL) {
		char *field, *part[3] = { 0 };
		const uint64_t problem = strtoull(line, &field, 16);
		for (int i = 0; i < 3; i++)
			part[i] = strtok_r(i ? NULL : field, "\t", &field);
		if (part[2])
			passed_add(&(struct passed){ problem, part[0], part[1], part[2] });
	}
}

static void share(struct proofs *p, struct comm *c)
{
	static const char what[] = "the kernels to pass over";
	struct buf mine = BUF_INIT;
	if (comm_many(c)) {
		write_passed(&mine, p->shared);
		int64_t size = (int64_t)mine.len, *all = mem_calloc((size_t)c->size, sizeof *all);
		comm_all_gather(c, &size, sizeof size, all, what);
		for (int r = 0; r < c->size; r++) {
			char *text = all[r] ? mem_calloc((size_t)all[r] + 1, 1) : NULL;
			if (!text)
				continue;
			if (r == c->rank)
				memcpy(text, mine.data, mine.len);
			comm_broadcast(c, text, (size_t)all[r], r, what);
			read_passed(text);
			mem_free(text);
		}
		mem_free(all);
	}
	buf_release(&mine);
	if (c)
		p->shared = passed_count();
}

/* --- verdicts --- */

void proofs_open(struct proofs **out, const struct device *dev, struct comm *c)
{
	const bool wanted = !debug.proof || strcmp(debug.proof, "no") != 0;
	*out = mem_calloc(1, sizeof **out);
	if (dev->backend == BACKEND_CPU && proof_enabled() && wanted)
		(*out)->verdicts = verdicts_open(dev);
	share(*out, c);
}

void proofs_free(struct proofs *p)
{
	if (p)
		verdicts_free(p->verdicts);
	mem_free(p);
}

static bool is_among(const struct proof_case *c, int n, const struct proof_case *one)
{
	for (int i = 0; i < n; i++)
		if (memcmp(&c[i], one, sizeof *one) == 0)
			return true;
	return false;
}

/* Each problem once. Returns their number; *out is mem_free's. */
static int collect(const struct proofs *p, const struct plan *plan, struct proof_case **out)
{
	struct proof_case *c = mem_alloc(sizeof *c * (size_t)(plan->g->nnode + 1));
	int n = 0;
	for (int i = 0; i < plan->g->nnode; i++)
		if (proof_case_of(&c[n], exec_kernel(plan->exec, i)) &&
		    !verdicts_has(p->verdicts, &c[n]) && !is_among(c, n, &c[n]))
			n++;
	*out = c;
	return n;
}

int proofs_missing(const struct proofs *p, const struct plan *plan)
{
	struct proof_case *c = NULL;
	const int n = p && p->verdicts ? collect(p, plan, &c) : 0;
	mem_free(c);
	return n;
}

/* Without a process the rules for known faults (backend/dnn/dnn_quirks.h) have decided. */
static void prove(struct proofs *p, const struct plan *plan)
{
	struct proof_case *c;
	if (!p->verdicts || p->impossible)
		return;
	const int n = collect(p, plan, &c), mark = err_count();
	struct proof_verdict *verdict = mem_calloc((size_t)n + 1, sizeof *verdict);
	const double start = io_seconds();
	if (n && proof_run(c, n, verdict) == 0) {
		verdicts_add(p->verdicts, c, n, verdict);
	} else if (n) {
		note("kernels are used that are not proven on this machine: %s",
		     err_count() > mark ? err_get(mark)->text : "no process can be started");
		p->impossible = true;
	}
	err_truncate(mark);
	if (n)
		trace_mark(TRACE_RUN, "proofs", start);
	mem_free(verdict);
	mem_free(c);
}

void proofs_say(const struct proofs *p)
{
	static int said[SAID_MOST];      /* entries, as 1 + its place in the list */
	int n = 0;
	for (int i = 0; p && i < passed_count(); i++) {
		const struct passed *e = passed_at(i);
		bool again = false;
		for (n = 0; n < SAID_MOST && said[n]; n++)
			again |= said[n] == i + 1;
		if (again || n == SAID_MOST || !passed_met(i))
			continue;
		note("%s is passed over for %s: %s", e->impl, e->text, e->fault);
		said[n] = i + 1;
	}
}

void proofs_describe(const struct proofs *p, const struct plan *plan, struct buf *out)
{
	struct buf text = BUF_INIT;
	const int missing = proofs_missing(p, plan);
	passed_list(&text, "\n              ");
	if (text.len)
		buf_printf(out, "passed over   %s\n", text.data);
	if (missing)
		buf_printf(out, "proofs        %d kernels have not been proven on this machine; a run does "
		           "that first\n", missing);
	buf_release(&text);
}

void proofs_json(const struct proofs *p, const struct plan *plan, struct buf *out)
{
	const char *between = "";
	buf_puts(out, ", \"passed_over\": [");
	for (int i = 0; i < passed_count(); i++) {
		const struct passed *e = passed_at(i);
		if (!passed_met(i))
			continue;
		buf_printf(out, "%s{\"kernel\": ", between);
		buf_json_string(out, e->impl);
		buf_puts(out, ", \"problem\": ");
		buf_json_string(out, e->text);
		buf_puts(out, ", \"fault\": ");
		buf_json_string(out, e->fault);
		buf_putc(out, '}');
		between = ", ";
	}
	buf_printf(out, "], \"unproven\": %d", proofs_missing(p, plan));
}

void proofs_state(const struct proofs *p, struct buf *out)
{
	if (!p || !p->verdicts)
		return;
	buf_puts(out, isa_name(dnn_isa()));
	const size_t before = out->len;
	buf_puts(out, "; ");
	passed_list(out, "; ");
	if (out->len == before + 2)
		out->data[out->len = before] = '\0';
}

bool proofs_make(struct proofs *p, const struct plan *plan, struct comm *c)
{
	const int before = passed_count();
	const bool later = comm_many(c) && c->local_rank > 0;
	if (!later)
		prove(p, plan);
	if (comm_many(c))
		comm_barrier(c, "the proofs of kernels");
	if (later && p->verdicts)
		verdicts_refresh(p->verdicts);
	if (later)
		prove(p, plan);
	share(p, c);
	return passed_count() > before;
}
