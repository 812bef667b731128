/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saves checkpoints between steps and at the end. */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "plan/sums/reduction.h"
#include "train/save/levels.h"
#include "train/run/loop_state.h"
#include "train/run/ranks.h"
#include "train/save/replicas.h"
#include "train/run/target.h"

double loop_elapsed(const struct loop *l)
{
	return l->seconds_before + io_seconds() - l->start;
}

int loop_save_on_failure(struct loop *l, int rc)
{
	l->worth_saving |= rc < 0;
	return rc;
}

/* Before rank 0 saves: finishes lagged all-reduces, compares parameters, and makes running
 * statistics the same on all ranks. */
static int prepare_save(struct loop *l)
{
	snapshot_settle(l->snapshot);
	TRY(reduction_flush(&l->s->reduction, l->s->store, session_plan(l->s, PLAN_TRAIN)));
	TRY(replicas_compare(l->comm, l->s->store));
	return replicas_average(l->comm, l->s->store, l->c->parallel.average_statistics);
}

/* The numbers of the newest validation; those of several values are left out. */
static int version_metrics(const struct loop *l, struct ckpt_metric out[METRICS_MOST + 1])
{
	const struct evaluation *e = &l->result->evaluation;
	int n = 0;
	if (!l->result->has_evaluation || l->evaluated_step != l->clock.step)
		return 0;
	out[n++] = (struct ckpt_metric){ "loss", e->loss };
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == METRIC_NUMBER)
			out[n++] = (struct ckpt_metric){ e->metric[i].name, e->metric[i].v[0] };
	return n;
}

/* What manifests that several ranks write have in common. */
struct common {
	double seconds;
	struct ckpt_age age;
	char parent[64];
};

static void raise_age(struct ckpt_age *age, struct ckpt_age least)
{
	age->time = age->time > least.time ? age->time : least.time;
	age->serial = age->serial > least.serial ? age->serial : least.serial;
}

/* Later than the versions so far, whatever the clock says. */
static struct ckpt_age next_age(const struct loop *l)
{
	struct ckpt_age age = { (int64_t)time(NULL), 0 };
	raise_age(&age, l->newest);
	raise_age(&age, ckpt_newest(l->ckpt));
	if (l->local)
		raise_age(&age, ckpt_newest(l->local));
	return age;
}

/* What rank 0 says. Collective where hosts save on their own disks. */
static struct common agree_on_common(struct loop *l)
{
	struct common c = { loop_elapsed(l) };
	if (l->first) {
		c.age = next_age(l);
		snprintf(c.parent, sizeof c.parent, "%s", l->parent);
	}
	if (l->local_folder && comm_many(l->comm))
		comm_broadcast(l->comm, &c, sizeof c, 0, "the age of a checkpoint");
	return c;
}

/* On every rank that has a share of the version. */
static int save(struct loop *l, const struct common *common, const struct state_stores *to)
{
	struct ckpt_metric metrics[METRICS_MOST + 1];
	l->clock.seconds = common->seconds;
	if (to->run)
		ckpt_set_parent(to->run, common->parent);
	if (to->local)
		ckpt_set_parent(to->local, common->parent);
	const struct state_texts texts = { .age = common->age, .metric_name = target_metric(l->c),
		.metric = l->evaluated_step == l->clock.step ? l->metric : NAN,
		.nmetrics = version_metrics(l, metrics), .metrics = metrics,
		.config = l->config_text, .program = "dlx-train " PACKAGE_VERSION };
	TRY(state_save(l->s, to, l->snapshot, &l->clock, &texts));
	if (to->run)
		l->saved_step = l->clock.step;
	return 0;
}

static void note_saved(struct loop *l, const struct ckpt_done *done)
{
	snprintf(l->parent, sizeof l->parent, "%s", done->id);
	l->safe = true;
}

static int note_local(struct loop *l)
{
	struct ckpt_done done;
	while (l->first && l->local && ckpt_poll(l->local, &done)) {
		note_saved(l, &done);
		const double stall = l->stall + snapshot_settle(l->snapshot);
		TRY(loop_save_on_failure(l, journal_checkpoint(l->journal, &done, "host", stall, 0)));
	}
	return 0;
}

static void tell_pace(struct loop *l)
{
	if (pace_news(&l->pace))
		note("a checkpoint costs %.2g s of training: the next ones come every %.3g s",
		     l->pace.cost, l->pace.interval);
}

int loop_note_durable(struct loop *l)
{
	struct ckpt_done done;
	TRY(note_local(l));
	while (l->first && ckpt_poll(l->ckpt, &done)) {
		note_saved(l, &done);
		resume_point_set(&l->durable, done.id, done.step);
		job_end_longest(&l->job_end, &l->job_end.save, done.seconds);
		const double stall = l->stall + snapshot_settle(l->snapshot);
		pace_add(&l->pace, stall, done.seconds, l->s->dev->driver ? 0 : l->s->dev->threads);
		tell_pace(l);
		TRY(loop_save_on_failure(l, journal_checkpoint(l->journal, &done, "store", stall,
		                                               l->pace.failures ? l->pace.interval : 0)));
	}
	return 0;
}

/* A failed save does not end training: older versions are intact, the next save tries again. */
static void warn_unsaved(int mark)
{
	for (int i = mark; i < err_count(); i++)
		warn("%s; training goes on, the last good checkpoint is in place", err_get(i)->text);
	err_truncate(mark);
}

/* The saves in flight. */
static void wait_for_own_saves(struct loop *l, int mark)
{
	if (l->local && ckpt_wait(l->local) < 0)
		warn_unsaved(mark);
	if (l->ckpt && ckpt_wait(l->ckpt) < 0)
		warn_unsaved(mark);
}

/* Collective. Where one rank writes for all, the others would wait in the next collective call for
 * as long as that takes, and its deadline (parallel.timeout) is for ranks that are lost. */
static void await_saves(struct loop *l)
{
	double busy = comm_many(l->comm);
	while (busy > 0) {
		busy = (l->local && !ckpt_idle(l->local)) || (l->ckpt && !ckpt_idle(l->ckpt));
		comm_max(l->comm, &busy, 1, "the checkpoint before");
		if (busy > 0)
			usleep(10000);
	}
}

/* Those of all ranks: no rank begins a save while another still removes what the one before has
 * left (ckpt_save). Collective. */
static void wait_for_saves(struct loop *l, int mark)
{
	await_saves(l);
	wait_for_own_saves(l, mark);
	if (comm_many(l->comm))
		comm_barrier(l->comm, "the checkpoint before");
}

/* Whether the run's store, which may be slow, still takes a version: training would have to wait
 * for its copy of the state. Rank 0 says so. Collective. */
static bool store_is_busy(struct loop *l)
{
	bool busy = l->first && !ckpt_idle(l->ckpt);
	if (comm_many(l->comm))
		comm_broadcast(l->comm, &busy, sizeof busy, 0, "whether a checkpoint is under way");
	return busy;
}

static int save_between(struct loop *l, bool only_local)
{
	const double start = io_seconds();
	int mark = err_count();
	const struct state_stores to = { only_local ? NULL : l->ckpt, l->local };
	TRY(prepare_save(l));
	l->saved_local_at = io_seconds();
	l->saved_local_step = l->clock.step;
	if (!only_local)
		l->saved_at = l->saved_local_at;
	else if (store_is_busy(l))
		return 0;
	wait_for_saves(l, mark);
	TRY(loop_note_durable(l));
	const struct common common = agree_on_common(l);
	if ((to.run || to.local) && save(l, &common, &to) < 0)
		warn_unsaved(mark);
	l->stall = io_seconds() - start;
	return 0;
}

/* What a save does to the state depends on the step alone, also where it writes nothing. All ranks
 * have copied the same lagged sums before those of all but one are taken away. */
int loop_save(struct loop *l, bool only_local)
{
	TRY(save_between(l, only_local));
	return reduction_keep(&l->s->reduction);
}

/* After the last version in the run's store those on hosts' disks are not needed. */
static int drop_local(struct loop *l, int rc)
{
	const int mark = err_count();
	/* A rank that fails alone ends all: the others are not in this. */
	if (rc < 0 || !l->local_folder)
		return rc;
	if (l->local && ckpt_wait(l->local) < 0)
		warn_unsaved(mark);
	TRY(ranks_agree(l->comm, 0, "the last checkpoint"));
	if (l->local && (!l->comm || l->comm->local_rank == 0))
		ckpt_discard(l->local);
	return 0;
}

static int save_last(struct loop *l)
{
	const double start = io_seconds();
	const struct state_stores to = { l->ckpt, NULL };
	int mark = err_count();
	bool saved = l->saved_step == l->clock.step;
	TRY(loop_save_on_failure(l, journal_start(l->journal)));
	if (comm_many(l->comm))
		comm_broadcast(l->comm, &saved, sizeof saved, 0, "whether the end is saved");
	if (!saved) {
		TRY(prepare_save(l));
		wait_for_saves(l, mark);
		TRY(loop_note_durable(l));
		const struct common common = agree_on_common(l);
		if (l->ckpt)
			TRY(save(l, &common, &to));
	}
	await_saves(l);
	if (!l->ckpt)
		return 0;
	int rc = ckpt_wait(l->ckpt);
	l->stall = saved ? l->stall : io_seconds() - start;
	if (!l->first) {               /* rank 0 writes what another rank has not written */
		if (rc < 0)
			warn_unsaved(mark);
		return 0;
	}
	TRY(rc);
	ckpt_ended(l->ckpt);
	return loop_note_durable(l);
}

int loop_save_at_end(struct loop *l)
{
	return drop_local(l, save_last(l));
}

void loop_save_alone(struct loop *l)
{
	const struct state_stores to = { l->ckpt, NULL };
	ckpt_alone(l->ckpt);
	snapshot_settle(l->snapshot);
	wait_for_own_saves(l, err_count());
	struct common common = { loop_elapsed(l), next_age(l), "" };
	snprintf(common.parent, sizeof common.parent, "%s", l->parent);
	if (l->saved_step != l->clock.step && save(l, &common, &to) < 0)
		return;
	l->safe |= ckpt_wait(l->ckpt) == 0;
}
