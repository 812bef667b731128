/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a host have the same machine and mostly the same kernels. So one of them tests
 * kernels first and stores the verdicts, which the others then read. */
#include "plan/time/proofs.h"

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
	const struct device *dev;
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
	const bool wanted = !debug.proof || strcmp(debug.proof, "no") != 0,
	           runs = dev->backend == BACKEND_CPU || (dev->driver && !dev->imagined);
	*out = mem_calloc(1, sizeof **out);
	(*out)->dev = dev;
	if (runs && proof_enabled() && wanted)
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

/* The problems of a plan that have no verdict, each once, and a node that has it. */
struct todo {
	struct proof_case *c;
	const struct kplan **k;
	int n;
};

static struct todo collect(const struct proofs *p, const struct plan *plan)
{
	const size_t most = (size_t)plan->g->nnode + 1;
	struct todo t = { mem_alloc(sizeof *t.c * most), mem_alloc(sizeof *t.k * most), 0 };
	for (int i = 0; i < plan->g->nnode; i++) {
		t.k[t.n] = exec_kernel(plan->exec, i);
		t.n += proof_case_of(&t.c[t.n], t.k[t.n]) && !verdicts_has(p->verdicts, &t.c[t.n]) &&
		       !is_among(t.c, t.n, &t.c[t.n]);
	}
	return t;
}

static void todo_release(struct todo *t)
{
	mem_free(t->c);
	mem_free(t->k);
}

int proofs_missing(const struct proofs *p, const struct plan *plan)
{
	if (!p || !p->verdicts)
		return 0;
	struct todo t = collect(p, plan);
	todo_release(&t);
	return t.n;
}

/* Seconds for the proofs of a plan on a GPU, whose kernels are not ended from outside. */
#define DEVICE_MOST 30.0

/* What cannot be proven, for want of memory say, is not known. */
static void prove_one(const struct todo *t, int i, struct proof_verdict *verdict)
{
	static bool said;
	struct buf text = BUF_INIT;
	const int mark = err_count();
	if (proof_device_run(t->k[i], &t->c[i], verdict) == 0)
		return;
	verdict->fault = PROOF_UNKNOWN;
	proof_case_text(&t->c[i], &text);
	if (!said)
		note("%s is not proven for %s: %s", t->c[i].impl, text.data, err_get(mark)->text);
	said = true;
	err_truncate(mark);
	buf_release(&text);
}

/* On a GPU: until the time is up, but one at least. */
static void prove_here(const struct todo *t, struct proof_verdict *verdict)
{
	const double most = debug.proof_seconds > 0 ? debug.proof_seconds : DEVICE_MOST,
	             end = io_seconds() + most;
	int left = 0;
	for (int i = 0; i < t->n; i++) {
		left += i > 0 && io_seconds() > end;
		if (left)
			verdict[i].fault = PROOF_UNKNOWN;
		else
			prove_one(t, i, &verdict[i]);
	}
	if (left)
		note("%d kernels are used that are not proven on this GPU yet: proofs have had their "
		     "%.3g s; the next run goes on there", left, most);
}

static int prove_all(const struct proofs *p, const struct todo *t, struct proof_verdict *verdict)
{
	if (!p->dev->driver)
		return proof_run(t->c, t->n, verdict);
	prove_here(t, verdict);
	return 0;
}

/* Tests the kernels of the plan. If no process can be started, nothing is tested: the rules for
 * known faults (backend/dnn/dnn_quirks.h) have excluded kernels already. */
static void prove(struct proofs *p, const struct plan *plan)
{
	if (!p->verdicts || p->impossible)
		return;
	struct todo t = collect(p, plan);
	struct proof_verdict *verdict = mem_calloc((size_t)t.n + 1, sizeof *verdict);
	const double start = io_seconds();
	const int mark = err_count();
	if (t.n && prove_all(p, &t, verdict) == 0) {
		verdicts_add(p->verdicts, t.c, t.n, verdict);
	} else if (t.n) {
		note("kernels are used that are not proven on this machine: %s",
		     err_count() > mark ? err_get(mark)->text : "no process can be started");
		p->impossible = true;
	}
	err_truncate(mark);
	if (t.n)
		trace_mark(TRACE_RUN, "proofs", start);
	mem_free(verdict);
	todo_release(&t);
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
	if (p->dev->driver) {
		passed_list(out, "; ");
		return;
	}
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
