/* SPDX-License-Identifier: BSD-3-Clause
 *
 * At every kept checkpoint the run made running statistics equal on all ranks, whatever the reason
 * for the save. The replay does the same there. */
#include "train/save/replay_versions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/version_id.h"
#include "train/run/ranks.h"
#include "train/diagnose/rerun.h"

/* --- the range --- */

int replay_range_parse(struct replay_range *out, const char *text)
{
	const char *dots = NULL;
	for (const char *p = strstr(text, ".."); p; p = strstr(p + 1, ".."))
		if (p[2] != '/' && (p == text || p[-1] != '/'))        /* no part of a path */
			dots = p;
	if (!dots || dots == text || !dots[2])
		return ERR(E_USAGE, NULL, "'--replay %s': expected two checkpoints, as in 100..200", text);
	out->to = mem_strdup(dots + 2);
	if (dots == text + 1 && *text == '0')
		return 0;
	out->from = mem_strdup(text);
	out->from[dots - text] = '\0';
	return 0;
}

void replay_range_release(struct replay_range *r)
{
	mem_free(r->from);
	mem_free(r->to);
}

/* --- comparing --- */

struct comparison {
	int tensors, differ;
	struct buf *out;
};

struct distance {
	int64_t n;                     /* values of other bits */
	double most;                   /* the largest difference; NaN: of one that is none */
};

/* a, b: aligned. */
static struct distance distance_of(enum dtype t, const void *a, const void *b, int64_t n)
{
	struct distance d = { 0 };
	const size_t each = dtype_size(t);
	for (int64_t i = 0; i < n; i++) {
		if (memcmp((const char *)a + (size_t)i * each, (const char *)b + (size_t)i * each,
		           each) == 0)
			continue;
		const double by = fabs(dtype_get(t, a, i) - dtype_get(t, b, i));
		d.n++;
		d.most = isnan(by) || isnan(d.most) ? NAN : fmax(by, d.most);
	}
	return d;
}

static void differs_by(struct comparison *c, const char *name, const struct shape *s,
                       const struct distance *d)
{
	char text[SHAPE_TEXT];
	c->differ++;
	buf_printf(c->out, "  %-40s %-14s %10" PRId64 " of %-10" PRId64 " values, by %.6g at most\n",
	           name, shape_text(s, text), d->n, shape_count(s), d->most);
}

static int compare_entry(struct comparison *c, const struct store_entry *e,
                         const struct ckpt_tensor *t)
{
	const int64_t n = shape_count(&e->shape);
	const size_t bytes = (size_t)n * dtype_size(e->dtype);
	c->tensors++;
	if (!t || t->dtype != e->dtype || !shape_equal(&t->shape, &e->shape)) {
		c->differ++;
		buf_printf(c->out, "  %-40s %s\n", e->name, t ? "is of another type or shape" :
		           "is not in the checkpoint");
		return 0;
	}
	void *mine = mem_alloc(bytes), *theirs = mem_alloc(bytes);
	memcpy(theirs, t->data, bytes);
	int rc = store_get(e, e->dtype, mine);
	const struct distance d = rc == 0 ? distance_of(e->dtype, mine, theirs, n) :
	                          (struct distance){ 0 };
	if (d.n)
		differs_by(c, e->name, &e->shape, &d);
	mem_free(mine);
	mem_free(theirs);
	return rc;
}

static int compare_tensors(struct comparison *c, const struct store *store,
                           const struct ckpt_version *v)
{
	const struct ckpt_state *state = ckpt_version_state(v);
	for (int i = 0; i < store_count(store); i++) {
		const struct store_entry *e = store_at(store, i);
		if (state_is_kept(e->use))
			TRY(compare_entry(c, e, ckpt_version_find(v, e->name)));
	}
	for (int i = 0; i < state->ntensors; i++) {
		if (store_find(store, state->tensor[i].name))
			continue;
		c->tensors++;
		c->differ++;
		buf_printf(c->out, "  %-40s is in the checkpoint alone\n", state->tensor[i].name);
	}
	return 0;
}

static void compare_position(struct comparison *c, const struct clock *at,
                             const struct ckpt_version *v)
{
	const char *batch = ckpt_version_scalar(v, "batch");
	const int64_t epoch = ckpt_version_state(v)->epoch, b = batch ? strtoll(batch, NULL, 10) : -1;
	if (epoch == at->epoch && b == at->batch)
		return;
	c->differ++;
	buf_printf(c->out, "  the position: epoch %" PRId64 ", batch %" PRId64 "; the checkpoint's is "
	           "epoch %" PRId64 ", batch %" PRId64 "\n", at->epoch, at->batch, epoch, b);
}

static int compare(const struct rerun *r, const struct ckpt_version *v, struct buf *out,
                   bool *differs)
{
	struct buf rows = BUF_INIT;
	struct comparison c = { .out = &rows };
	int rc = compare_tensors(&c, r->l.s->store, v);
	compare_position(&c, &r->l.clock, v);
	*differs = c.differ > 0;
	if (rc == 0 && c.differ)
		buf_printf(out, "checkpoint %s: %d of %d tensors differ\n%s",
		           version_bare_id(ckpt_version_id(v)), c.differ, c.tensors, rows.data);
	else if (rc == 0)
		buf_printf(out, "checkpoint %s: all %d tensors have the same bits\n",
		           version_bare_id(ckpt_version_id(v)), c.tensors);
	buf_release(&rows);
	return rc;
}

/* --- the steps --- */

struct replayed {
	struct session *s;
	char *dir;
	const struct replay_range *range;
	bool first;
	struct buf *out;
	char to[64];                   /* of rank 0 */
	int64_t begin, end;            /* steps */
};

static int find_ends(struct replayed *p)
{
	struct ckpt_version *from = NULL, *to = NULL;
	int rc = !p->range->from ? 0 : ckpt_look(&from, p->dir, p->range->from);
	if (rc == 0)
		rc = ckpt_look(&to, p->dir, p->range->to);
	if (rc == 0 && ((p->range->from && !from) || !to))
		rc = ERR(E_NOINPUT, NULL, "no checkpoint in '%s'", p->dir);
	if (rc == 0) {
		p->begin = from ? ckpt_version_state(from)->step : 0;
		p->end = ckpt_version_state(to)->step;
		snprintf(p->to, sizeof p->to, "%s", ckpt_version_id(to));
	}
	if (rc == 0 && p->end <= p->begin)
		rc = ERR(E_USAGE, NULL, "'--replay': checkpoint %s is of step %" PRId64
		         ", which is not after step %" PRId64, version_bare_id(p->to), p->end, p->begin);
	ckpt_version_free(from);
	ckpt_version_free(to);
	return rc;
}

/* The checkpoint to compare with or settle for after this step, on rank 0; NULL: none. */
static int version_of(const struct replayed *p, int64_t step, struct ckpt_version **out)
{
	char id[32];
	const int mark = err_count();
	*out = NULL;
	if (step == p->end)
		return ckpt_load(out, p->dir, p->to);
	snprintf(id, sizeof id, "%" PRId64, step);
	if ((p->first ? ckpt_load : ckpt_look)(out, p->dir, id) < 0)
		*out = NULL;
	err_truncate(mark);
	return 0;
}

/* After a step. *differs: as compared, if it was. */
static int look(const struct replayed *p, struct rerun *r, bool *differs)
{
	struct comm *c = p->s->comm;
	struct ckpt_version *v = NULL;
	int rc = comm_first(c) ? version_of(p, r->l.clock.step, &v) : 0;
	bool kept = v != NULL;
	rc = ranks_agree(c, rc, "the checkpoint to compare with");
	if (rc == 0 && comm_many(c))
		comm_broadcast(c, &kept, sizeof kept, 0, "whether there is a checkpoint");
	if (rc == 0 && kept)
		rc = rerun_settle(r);
	if (rc == 0 && v && (p->first || r->l.clock.step == p->end))
		rc = compare(r, v, p->out, differs);
	ckpt_version_free(v);
	rc = ranks_agree(c, rc, "comparing");
	if (rc == 0 && comm_many(c))
		comm_broadcast(c, differs, sizeof *differs, 0, "whether it differs");
	return rc;
}

static int run(struct replayed *p, bool *differs)
{
	struct comm *c = p->s->comm;
	struct rerun r;
	struct plan_result result;
	TRY(ranks_agree(c, comm_first(c) ? find_ends(p) : 0, "the checkpoints"));
	if (comm_many(c)) {
		comm_broadcast(c, &p->end, sizeof p->end, 0, "the steps");
		comm_broadcast(c, &p->begin, sizeof p->begin, 0, "the steps");
	}
	p->s->threads = ranks_threads(c, p->s->dev->threads, p->s->config->arena);
	TRY(rerun_begin(&r, p->s, p->range->from, p->end));
	while (r.l.clock.step < p->end && !*differs) {
		TRY(rerun_step(&r, &result));
		TRY(look(p, &r, differs));
	}
	return 0;
}

int replay_versions(struct session *s, const struct replay_range *r, bool first, struct buf *out,
                    bool *differs)
{
	struct replayed p = { .s = s, .range = r, .first = first, .out = out,
		.dir = io_join(s->config->run.dir, "checkpoints") };
	*differs = false;
	int rc = run(&p, differs);
	if (rc == 0 && comm_first(s->comm))
		buf_printf(out, "%" PRId64 " steps made again, from step %" PRId64 "\n", p.end - p.begin,
		           p.begin);
	mem_free(p.dir);
	return rc;
}
