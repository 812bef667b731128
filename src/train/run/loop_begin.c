/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Before the first step. Rank 0 opens files and reads the
 * state, and all ranks agree on the outcome. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/run_claim.h"
#include "ckpt/version_id.h"
#include "graph/cost.h"
#include "plan/describe/describe_seen.h"
#include "plan/describe/describe_sources.h"
#include "plan/sums/reduction.h"
#include "train/run/changes.h"
#include "train/save/interop.h"
#include "train/save/levels.h"
#include "train/run/loop_state.h"
#include "train/run/ranks.h"

int64_t loop_global_batch(const struct loop *l)
{
	return config_rank_batch(l->c) * l->s->nteams;
}

static bool ends_by_epochs(const struct train_section *t, int64_t per_epoch)
{
	return t->epochs && (!t->steps || t->epochs * per_epoch < t->steps);
}

static int64_t total_steps(const struct train_section *t, int64_t per_epoch)
{
	return ends_by_epochs(t, per_epoch) ? t->epochs * per_epoch : t->steps;
}

int64_t loop_epoch_samples(const struct loop *l)
{
	return loader_samples_before(l->s->train, 0, l->batches);
}

/* r: of a version. Only from one in the run's store steps can be made again; one from a host's disk
 * is still to be saved there, also by a run that has nothing more to do. */
static int go_on_from(struct loop *l, const struct state_resumed *r)
{
	struct buf from = BUF_INIT;
	l->safe = true;
	if (r->rank < 0) {
		l->saved_step = l->clock.step;
		resume_point_set(&l->durable, r->id, l->clock.step);
	} else
		buf_printf(&from, ", from the disk of rank %d's host", r->rank);
	progress_say(l->progress, "resuming from checkpoint %s (step %" PRId64 "%s)",
	             version_bare_id(r->id), l->clock.step, from.len ? from.data : "");
	buf_release(&from);
	return reduction_resume(&l->s->reduction, l->s->store, session_plan(l->s, PLAN_TRAIN));
}

/* r: the checkpoint that the run goes on from, its id "" if none. */
static int resume_or_start(struct loop *l, const struct train_options *o, const char *dir,
                           struct state_resumed *r)
{
	struct ckpt_version *v = NULL;
	struct levels levels;
	*r = (struct state_resumed){ .rank = -1 };
	if (o->resume) {
		TRY(state_resume(l->s, dir, l->local_folder, o->resume, &l->clock, r));
		l->newest = r->newest;
		if (r->found)
			return go_on_from(l, r);
		progress_say(l->progress, "no checkpoint in '%s' yet: starting from the beginning", dir);
		TRY(interop_begin(l->s));
		return state_begin_averages(l->s->store);
	}
	levels_look(&levels, l->comm, l->local_folder, NULL, NULL);
	if (l->first)
		TRY(ckpt_load(&v, dir, "auto"));
	if (!v && levels.root < 0)
		return state_begin_averages(l->s->store);
	int64_t at = v ? ckpt_version_state(v)->step : levels.step;
	ckpt_version_free(v);
	return ERR(E_CANTCREATE, NULL, "'%s' holds a run already, with a checkpoint of step %" PRId64
	           "%s; continue it with --resume, choose another folder with --set "
	           "run.dir=DIR, or remove it", l->c->run.dir, at, v ? "" : " on a host's own disk");
}

/* How long a run of a config is, as it would be said in 'schedule.over'. */
static const char *length_text(const struct train_section *t, int64_t per_epoch, char text[64])
{
	const bool epochs = ends_by_epochs(t, per_epoch);
	snprintf(text, 64, "{%s: %" PRId64 "}", epochs ? "epochs" : "steps",
	         epochs ? t->epochs : t->steps);
	return text;
}

/* For a schedule that ends with the run: if the resumed run has another number of steps than
 * before, prints to which value the learning rate jumps. */
static void note_stretch(const struct loop *l, const struct run_config *before)
{
	struct schedule_context was = l->schedule;
	char now[64], then[64];
	was.base_rate = optim_learning_rate(&before->optimizer);
	was.total_steps = total_steps(&before->train, was.steps_per_epoch);
	if (!schedule_spans_run(&before->schedule) || !schedule_spans_run(&l->c->schedule) ||
	    was.total_steps == l->schedule.total_steps || l->clock.step == 0)
		return;
	note("the learning rate goes on from %.4g to %.4g: the schedule stretches over %s, no longer "
	     "over %s; 'schedule.over: %s' keeps it",
	     schedule_rate(&before->schedule, &was, l->clock.step - 1),
	     schedule_rate(&l->c->schedule, &l->schedule, l->clock.step),
	     length_text(&l->c->train, was.steps_per_epoch, now),
	     length_text(&before->train, was.steps_per_epoch, then), then);
}

static void look_for_stretch(const struct loop *l)
{
	struct run_config *before = NULL;
	char *path = io_join(l->c->run.dir, "config.yaml");
	const int mark = err_count();
	if (io_exists(path) && config_load(&before, path, 0, NULL) == 0)
		note_stretch(l, before);
	err_truncate(mark);
	config_free(before);
	mem_free(path);
}

/* id: as of go_on_from. */
static int open_files(struct loop *l, const char *dir, const char *id,
                      const struct ckpt_share *share)
{
	const struct run_config *c = l->c;
	/* refuses a folder that another process trains in */
	TRY(ckpt_open(&l->ckpt, dir, &c->checkpoint, share));
	if (*id)
		look_for_stretch(l);
	TRY(changes_finish(c, *id));
	if (*id)
		ckpt_resumed(l->ckpt, id);
	return journal_open(&l->journal, c->run.dir, c->report.tensorboard, l->clock.step);
}

/* Ranks that see the files of rank 0 write their share of each version. Collective. */
static int open_shares(struct loop *l, const char *dir, struct ckpt_share *share)
{
	char seen[CKPT_RUN];
	double blind = 0;
	if (!comm_many(l->comm))
		return 0;
	ckpt_run_of(dir, seen);
	blind = !l->first && strcmp(seen, l->run) != 0;
	comm_max(l->comm, &blind, 1, "whether all ranks see the checkpoints");
	if (blind > 0) {
		share->ranks = 1;
		if (l->first)
			ckpt_alone(l->ckpt);
		return 0;
	}
	return ranks_agree(l->comm, l->first ? 0 : ckpt_open(&l->ckpt, dir, &l->c->checkpoint, share),
	                   "opening the checkpoints");
}

/* What all ranks of this job have in common and no other job: rank 0's process and time. */
static void name_job(struct loop *l, char save[32])
{
	snprintf(save, 32, "%08x%06x", (unsigned)time(NULL), (unsigned)getpid() & 0xffffff);
	if (comm_many(l->comm))
		comm_broadcast(l->comm, save, 32, 0, "the name of the job's checkpoints");
}

/* Which run this is, and with it where this host has versions of its own. */
static void find_run(struct loop *l, const char *run)
{
	snprintf(l->run, sizeof l->run, "%s", l->first ? run : "");
	if (comm_many(l->comm))
		comm_broadcast(l->comm, l->run, sizeof l->run, 0, "which run this is");
	l->local_folder = levels_folder(l->c->arena, &l->c->checkpoint.local, l->comm, l->run);
}

/* The run's folder is the one whose versions this host has, or is to have. Rank 0 sees both, and
 * has a claim on its own host alone. */
static int claim_local(const struct loop *l, const char *dir)
{
	const bool any = l->first && l->local_folder && io_exists(l->local_folder);
	return ranks_agree(l->comm, any ? run_claim_local(dir, l->local_folder) : 0,
	                   "the versions on hosts' disks");
}

static int open_local(struct loop *l, const struct state_resumed *r, const char *dir,
                      const char *job)
{
	int rc = levels_open(&l->local, l->comm, &l->c->checkpoint, l->local_folder, l->run, job);
	if (rc == 0)
		rc = claim_local(l, dir);
	if (rc < 0)
		return err_locate(rc, config_place(l->c, "checkpoint", "local"));
	if (l->local && r->rank >= 0 && (!l->comm || l->comm->local_rank == 0))
		ckpt_resumed(l->local, r->id);
	return 0;
}

static int open_stores(struct loop *l, const struct train_options *o, const char *dir)
{
	char name[32], run[CKPT_RUN] = "";
	struct ckpt_share share = { l->comm ? l->comm->rank : 0, comm_count(l->comm), name };
	struct state_resumed from;
	name_job(l, name);
	TRY(ranks_agree(l->comm, l->first ? io_mkdirs(l->c->run.dir) : 0, "making the run's folder"));
	if (l->first)
		ckpt_run_of(dir, run);
	find_run(l, run);
	if (o->resume)
		TRY(claim_local(l, dir));
	TRY(ranks_agree(l->comm, resume_or_start(l, o, dir, &from), "the checkpoint to go on from"));
	snprintf(l->parent, sizeof l->parent, "%s", from.id);
	TRY(ranks_agree(l->comm, l->first ? open_files(l, dir, from.id, &share) : 0,
	                "opening the run's files"));
	find_run(l, l->first ? ckpt_run(l->ckpt) : "");
	TRY(open_shares(l, dir, &share));
	return open_local(l, &from, dir, name);
}

static int open_run(struct loop *l, const struct train_options *o)
{
	char *dir = io_join(l->c->run.dir, "checkpoints");
	const int rc = open_stores(l, o, dir);
	if (rc == 0 && (l->ckpt || l->local)) {
		l->snapshot = snapshot_new(l->s);
		l->config_text = changes_text(l->c);
	}
	mem_free(dir);
	return rc;
}

int loop_plan_length(struct loop *l)
{
	const struct train_section *t = &l->c->train;
	l->batches = loader_batches(l->s->train);
	int64_t per_epoch = loader_steps(l->s->train);
	l->schedule.base_rate = optim_learning_rate(&l->c->optimizer);
	l->schedule.steps_per_epoch = per_epoch;
	l->schedule.total_steps = total_steps(t, per_epoch);
	l->epochs = t->epochs;
	return config_check_length(l->c);
}

/* Prints the device, if the config leaves it open, and the ranks. */
static void say_place(const struct loop *l)
{
	struct buf text = BUF_INIT;
	if (l->s->dev->why)
		progress_say(l->progress, "%s (%s)", l->s->dev->why, l->s->dev->description);
	if (l->c->chosen.why)
		progress_say(l->progress, "computing in %s, %s", dtype_name(config_compute(l->c)),
		             l->c->chosen.why);
	if (l->s->cut_why)
		progress_say(l->progress, "'spatial: auto' takes %s", l->s->cut_why);
	rank_grid_text(&l->s->grid, &text);
	if (comm_many(l->comm))
		progress_say(l->progress, "%s", text.data);
	buf_release(&text);
}

/* Of all ranks that share the sample: each is taken to have as many as this one. */
static double flops_of(const struct loop *l, int size)
{
	const struct plan *p = session_plan_of_size(l->s, PLAN_TRAIN, size);
	return p ? graph_cost(p->g, ~0u).flops / (double)p->batch * l->s->parts : 0;   /* NULL: all are
	                                                                               * left out */
}

static void count_flops(struct loop *l)
{
	double sum = 0, samples = 0;
	l->size_flops = ARENA_ARRAY(l->c->arena, double, 1 + l->s->ntrain_size);
	for (int k = 0; k <= l->s->ntrain_size; k++) {
		const double n = (double)loader_size(l->s->train, k).samples;
		l->size_flops[k] = flops_of(l, k);
		samples += n;
		sum += n * l->size_flops[k];
	}
	l->sample_flops = l->s->ntrain_size ? sum / samples : l->size_flops[0];
}

double loop_work(const struct loop *l, const struct submitted *g)
{
	return l->s->ntrain_size && l->sample_flops > 0 ?
	       (double)g->samples * l->size_flops[g->size] / l->sample_flops : (double)g->samples;
}

static void say_sizes(const struct loop *l)
{
	struct buf text = BUF_INIT;
	describe_train_sizes(l->s, &text);
	if (l->s->ntrain_size)
		progress_say(l->progress, "batches of one size each: %s", text.data);
	buf_release(&text);
}

static void say_sources(const struct loop *l)
{
	struct buf text = BUF_INIT;
	describe_sources(l->s, 2, &text);
	if (text.len)
		progress_say(l->progress, "%s", text.data);
	buf_release(&text);
}

int loop_prepare(struct loop *l, const struct train_options *o)
{
	say_place(l);
	say_sizes(l);
	say_sources(l);
	l->began = ranks_began(l->comm);
	l->s->threads = ranks_threads(l->comm, l->s->dev->threads, l->c->arena);
	TRY(ranks_agree(l->comm, loop_plan_length(l), "the length of the run"));
	TRY(open_run(l, o));
	TRY(ranks_agree(l->comm, left_out_read(l->s, l->guard), "the steps left out so far"));
	l->seconds_before = l->clock.seconds;
	l->schedule.reductions = l->clock.validations.plateau.reductions;
	if (loop_validation_counted(l))
		l->watched_step = l->clock.step;
	count_flops(l);
	if (l->first)
		journal_begin(l->journal, l->s, &(struct journal_begin){ l->clock.step,
			loop_global_batch(l) * config_step_batches(l->c),
			loop_epoch_samples(l), l->sample_flops,
			validations_best(&l->clock.validations, l->c), l->clock.validations.best_step });
	return loader_seek(l->s->train, l->clock.epoch, l->clock.batch);
}
