/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A gradient that is not finite shows only in the loss of a later step. A checkpoint saved in
 * between contains damaged values; it is skipped, and its parent is used. */
#include "train/diagnose/nonfinite.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/guard.h"
#include "plan/sums/reduction.h"
#include "train/diagnose/look.h"
#include "train/diagnose/rerun.h"

/* --- from where --- */

/* id becomes that of the newest checkpoint of a step before this one, or of the parent of `id` if
 * that is not ""; "": none, the beginning. Only what is intact counts. */
static void find_before(const struct loop *l, int64_t step, char id[64])
{
	char *dir = io_join(l->c->run.dir, "checkpoints");
	const int mark = err_count();
	struct ckpt_version *v = NULL, *parent = NULL;
	const bool up = *id != '\0';
	bool good = ckpt_look(&v, dir, up ? id : "auto") == 0 && v;
	if (good && (up || ckpt_version_state(v)->step >= step))
		good = ckpt_look_before(&parent, dir, ckpt_version_id(v)) == 0 && parent;
	const struct ckpt_version *found = parent ? parent : v;
	good = good && ckpt_version_state(found)->step < step;
	snprintf(id, 64, "%s", good ? ckpt_version_id(found) : "");
	ckpt_version_free(v);
	ckpt_version_free(parent);
	err_truncate(mark);
	mem_free(dir);
}

static void choose_before(const struct loop *l, int64_t step, char id[64])
{
	if (l->first)
		find_before(l, step, id);
	if (comm_many(l->comm))
		comm_broadcast(l->comm, id, 64, 0, "the checkpoint to look from");
}

/* --- which step --- */

static bool entry_finite(const struct store_entry *e)
{
	const int64_t n = shape_count(&e->shape);
	double *v = mem_alloc((size_t)n * sizeof *v);
	bool finite = store_get(e, DTYPE_F64, v) == 0;
	for (int64_t i = 0; i < n && finite; i++)
		finite = isfinite(v[i]);
	mem_free(v);
	return finite;
}

/* On all ranks. */
static bool state_finite(const struct session *s)
{
	double bad = 0;
	for (int i = 0; i < store_count(s->store) && bad == 0; i++)
		bad = state_is_kept(store_at(s->store, i)->use) && !entry_finite(store_at(s->store, i));
	if (comm_many(s->comm))
		comm_max(s->comm, &bad, 1, "whether the state is finite");
	return bad == 0;
}

/* Begins at id or, where that is not finite itself, at one before it. */
static int begin(struct rerun *r, const struct loop *l, int64_t step, char id[64])
{
	for (;;) {
		TRY(rerun_begin(r, l->s, *id ? id : NULL, step));
		if (!*id || state_finite(l->s))
			return 0;
		choose_before(l, step, id);
	}
}

/* *blamed: the first step after which the loss or the state is not finite; `step` if there is none
 * before it. */
static int blame(const struct loop *l, int64_t step, char id[64], int64_t *blamed)
{
	struct rerun r;
	struct plan_result result;
	TRY(begin(&r, l, step, id));
	const int64_t n = step - r.l.clock.step;
	progress_say(l->progress, "making %" PRId64 " step%s up to step %" PRId64 " again, to see what "
	             "is not finite", n, n > 1 ? "s" : "", step);
	do
		TRY(rerun_step(&r, &result));
	while (r.l.clock.step < step && isfinite(result.loss) && state_finite(l->s));
	*blamed = r.l.clock.step;
	return 0;
}

/* --- what in it --- */

static int look_into(const struct loop *l, int64_t step, const char *id, struct finding *out)
{
	struct rerun r;
	struct plan_result result;
	struct look look;
	TRY(rerun_begin(&r, l->s, *id ? id : NULL, step));
	while (r.l.clock.step + 1 < step)
		TRY(rerun_step(&r, &result));
	look_begin(&look, l->s);
	r.l.look = &look;
	int rc = rerun_step(&r, &result);
	look_end(&look);
	TRY(rc);
	look_share(&look);
	*out = look.found;
	return 0;
}

/* --- telling --- */

static void tell(const struct finding *f, int rc, int64_t step, int64_t seen, const char *id)
{
	struct buf line = BUF_INIT;
	if (step < seen)
		err_context(rc, "it began at step %" PRId64, step);
	if (f->node == NONE)
		err_context(rc, "step %" PRId64 " made once more from %s%s had finite values alone: no "
		            "matter of the network or the data, but of the machine, or of a kernel that "
		            "gives other bits each time", step, *id ? "checkpoint " : "the beginning", id);
	for (int i = 0; f->node != NONE && finding_line(f, i, &line); i++)
		err_context(rc, "%s", line.data);
	buf_release(&line);
}

/* id NULL: the step was not made from a checkpoint. */
static int note_down(const struct loop *l, const struct finding *f, int64_t step, int64_t seen,
                     const char *id)
{
	struct buf members = BUF_INIT;
	if (!l->first)
		return 0;
	buf_printf(&members, ", \"seen\": %" PRId64, seen);
	if (id)
		buf_puts(&members, ", \"from\": ");
	if (id && *id)
		buf_json_string(&members, id);
	else if (id)
		buf_puts(&members, "null");
	buf_printf(&members, ", \"found\": %s", f->node != NONE ? "true" : "false");
	if (f->node != NONE)
		finding_json(f, &members);
	int rc = journal_start(l->journal);
	if (rc == 0)
		rc = journal_nonfinite(l->journal, step, members.data);
	buf_release(&members);
	return rc;
}

/* What is still in flight on the device, in sums and on its way to the disk comes to its end. */
static int settle(struct loop *l)
{
	struct plan_result unused;
	const int mark = err_count();
	for (int i = 1; i < l->nsubmitted; i++)
		TRY(plan_result(l->submitted[i].plan, &unused));
	l->nsubmitted = 0;
	TRY(reduction_flush(&l->s->reduction, l->s->store, session_plan(l->s, PLAN_TRAIN)));
	if (l->first)
		ckpt_wait(l->ckpt);
	err_truncate(mark);
	return 0;
}

/* *machine: neither the rate nor the data are to blame. */
static int explain(struct loop *l, int rc, int64_t seen, bool *machine)
{
	char id[64] = "";
	int64_t step;
	struct finding found;
	const int mark = err_count();
	int again = settle(l);
	if (again == 0)
		choose_before(l, seen, id);
	if (again == 0)
		again = blame(l, seen, id, &step);
	if (again == 0)
		again = look_into(l, step, id, &found);
	if (again < 0) {
		err_truncate(mark);
		return err_context(rc, again == E_STOPPED ? "a signal ended the search for its origin" :
		                   "the steps could not be made again to find its origin");
	}
	tell(&found, rc, step, seen, id);
	note_down(l, &found, step, seen, id);
	*machine = found.node == NONE || found.kernel.verdict == KERNEL_WRONG;
	return rc;
}

int nonfinite_explain(struct loop *l, int rc, int64_t step)
{
	bool machine = false;
	if (!l->s->dev->driver || !l->s->dev->driver->failed(l->s->dev))
		explain(l, rc, step, &machine);
	return l->diverged.advice && !machine ? err_context(rc, "%s", l->diverged.advice) : rc;
}

/* --- a step that was left out --- */

#define LOOKS 8                  /* in a run: each costs a step, and that the data are read anew */

/* What a step that is left out writes all the same. */
static bool is_written(const struct store_entry *e)
{
	return e->role == ROLE_STATE && (e->use == STATE_OF_NETWORK ||
	                                 strcmp(e->name, GUARD_STATE) == 0 ||
	                                 strcmp(e->name, LOSS_SCALE_NAME) == 0);
}

/* Copies those states into v, or back; v NULL: counts their numbers. */
static int walk_written(struct store *s, double *v, bool back, int64_t *n)
{
	*n = 0;
	for (int i = 0; i < store_count(s); i++) {
		struct store_entry *e = store_at(s, i);
		if (!is_written(e))
			continue;
		if (v)
			TRY(back ? store_set(e, DTYPE_F64, v + *n) : store_get(e, DTYPE_F64, v + *n));
		*n += shape_count(&e->shape);
	}
	return 0;
}

static int go_to(struct loop *l, const struct clock *at)
{
	TRY(rerun_forget_prefetched(l->s));
	l->prefetched.batch = NULL;
	return loader_seek(l->s->train, at->epoch, at->batch);
}

static int run_again(const struct loop *l, const struct submitted *g, struct look *look)
{
	struct plan_result unused;
	struct loop again = *l;
	again.first = false;
	again.clock = g->before;
	again.last = g->clock.step;
	again.look = look;
	TRY(go_to(&again, &g->before));
	TRY(loop_submit(&again, g->number));
	return plan_result(again.submitted[0].plan, &unused);
}

static int say(const struct loop *l, const struct finding *f, int64_t step)
{
	struct buf line = BUF_INIT;
	for (int i = 0; f->node != NONE && finding_line(f, i, &line); i++)
		progress_say(l->progress, "  %s", line.data);
	buf_release(&line);
	return note_down(l, f, step, step, NULL);
}

int nonfinite_look(struct loop *l, const struct submitted *g)
{
	struct look look;
	int64_t n;
	if (l->looked++ >= LOOKS)
		return 0;
	walk_written(l->s->store, NULL, false, &n);
	double *v = mem_alloc((size_t)(n + 1) * sizeof *v);
	look_begin(&look, l->s);
	int rc = walk_written(l->s->store, v, false, &n);
	if (rc == 0)
		rc = run_again(l, g, &look);
	if (rc == 0)
		rc = walk_written(l->s->store, v, true, &n);
	if (rc == 0)
		rc = go_to(l, &l->clock);
	look_end(&look);
	mem_free(v);
	TRY(rc);
	look_share(&look);
	return say(l, &look.found, g->clock.step);
}
