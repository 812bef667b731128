/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/result.h"

#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/progress.h"
#include "train/run/target.h"

/* The settings that say where the training ends. */
static const char *end_settings(const struct session *s)
{
	const struct train_section *t = &s->config->train;
	const int64_t epochs = t->epochs * loader_steps(s->train);
	if (!t->steps || (t->epochs && epochs < t->steps))
		return "'--set train.epochs=N' goes on";
	if (!t->epochs || t->steps < epochs)
		return "'--set train.steps=N' goes on";
	return "'--set train.epochs=N --set train.steps=N' goes on";
}

static void put_end(const struct session *s, const struct train_result *r, struct buf *out)
{
	char time[32];
	if (r->stopped)
		buf_printf(out, "\nstopped after step %" PRId64 "%s; the state is saved, continue "
		           "with --resume\n", r->step, r->time_up ? ", before the job's time is up" : "");
	else if (r->at_end && !r->target_reached && !r->gave_up)
		buf_printf(out, "\nthe checkpoint is at the end: %s (it is of step %" PRId64 ", epoch %"
		           PRId64 ")\n", end_settings(s), r->step, r->epoch);
	else
		buf_printf(out, "\n%s after step %" PRId64 ", epoch %" PRId64 ", %s\n",
		           r->target_reached ? "target reached" : r->gave_up ? "ended by 'train.patience'" :
		           "done", r->step, r->epoch, seconds_text(r->seconds, time));
}

/* Whether the run's store has the checkpoint of its best validation: not a fork's, if that is of
 * its origin. */
static bool has_best(const struct session *s, int64_t step)
{
	const int mark = err_count();
	char *dir = io_join(s->config->run.dir, "checkpoints");
	struct ckpt_version *v = NULL;
	const bool has = comm_first(s->comm) && ckpt_look(&v, dir, "best") == 0 &&
	                 ckpt_version_state(v)->step == step;
	ckpt_version_free(v);
	mem_free(dir);
	err_truncate(mark);
	return has;
}

static void put_best(const struct session *s, const struct train_result *r, struct buf *out)
{
	const struct validations *w = &r->validations;
	if (isnan(w->best))
		return;
	buf_printf(out, "best validation: %s ", target_metric(s->config));
	evaluation_number(out, 0, validations_best(w, s->config));
	if (w->best_step >= 0)
		buf_printf(out, " at step %" PRId64, w->best_step);
	const bool kept = w->best_step >= 0 && has_best(s, w->best_step);
	buf_printf(out, " ('checkpoint.metric' decides)%s\n",
	           kept ? "; --resume=best takes its checkpoint" : "");
}

void result_text(const struct session *s, const struct train_result *r, struct buf *out)
{
	const char *dir = s->config->run.dir;
	put_end(s, r, out);
	if (r->nonfinite + r->outliers > 0)
		buf_printf(out, "%" PRId64 " steps were left out: %" PRId64 " not finite, %" PRId64
		           " outliers\n", r->nonfinite + r->outliers, r->nonfinite, r->outliers);
	put_best(s, r, out);
	rates_text(&r->rates, r->sample_flops, out);
	if (r->has_evaluation) {
		buf_puts(out, "\nvalidation\n");
		evaluation_table(&r->evaluation, s->config->physics ? NULL : session_data(s), out);
	}
	buf_printf(out, "\nresults in %s: config.yaml metrics.jsonl checkpoints/%s\n", dir,
	           s->config->report.tensorboard ? " events.out.tfevents.*" : "");
}
