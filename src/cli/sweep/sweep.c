/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks are divided into teams, one number of ranks per run after another; each team makes one
 * run, requests the next, and so on. A run is what it is alone: it has a config, a session and a
 * folder of its own. A failure that all ranks of a team know is a row of the table; one that a
 * single rank of several knows ends the job, since its team waits for it. */
#include "cli/sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/signals.h"
#include "cli/sweep/sweep_data.h"
#include "cli/sweep/sweep_desk.h"
#include "cli/sweep/sweep_live.h"
#include "plan/describe/sizes.h"
#include "report/progress.h"
#include "train/run/loop.h"
#include "train/run/opening.h"
#include "train/run/ranks.h"
#include "train/run/target.h"
#include "train/save/interop.h"

#define POLL 50000000            /* nanoseconds between two looks whether other teams have ended */
#define REPORT 2.0                 /* seconds between two steps that are reported to the desk */

struct sweeping {
	struct invocation *x;
	struct comm *all, *team;     /* team: that of this rank; in one process `all` */
	struct sweep *sweep;
	struct sweep_desk *desk;
	struct sweep_data *data;
	const struct run_config *base;
	const char *metric;          /* that of the base config */
	int host_ranks, sharing;     /* see struct session_options */
	bool live;
	/* The run under way: */
	int run;
	bool counts;                 /* it is judged by the sweep's metric */
	double reported;             /* when a step was last reported to the desk */
	int failed;                  /* a question to the desk that failed */
};

/* --- a run --- */

static void note_failure(struct sweeping *s, int rc)
{
	s->failed = s->failed ? s->failed : rc;
}

static void stepped(void *self, int64_t step, int64_t steps, double loss)
{
	struct sweeping *s = self;
	const double now = io_seconds();
	if (!s->live || now - s->reported < (comm_first(s->all) ? 0 : REPORT))
		return;
	s->reported = now;
	note_failure(s, sweep_desk_step(s->desk, s->run, step, steps, loss));
}

static bool validated(void *self, int64_t step, double value)
{
	struct sweeping *s = self;
	bool go_on = true;
	if (s->counts)
		note_failure(s, sweep_desk_value(s->desk, s->run, step, value, &go_on));
	return go_on && !s->failed;
}

static int read_config(const struct sweeping *s, struct run_config **out)
{
	const struct options *o = s->x->o;
	const struct sweep_run *r = &s->sweep->run[s->run];
	TRY(config_load_with(out, o->config, o->set.n, o->set.v, r->setting, r->n));
	int rc = config_check_length(*out);
	if (rc < 0) {
		config_free(*out);
		return rc;
	}
	(*out)->run.dir = arena_printf((*out)->arena, "%s/%s", s->base->run.dir, r->name);
	return 0;
}

/* Fills e. The state of a run that fails is that of its last step. */
static int train_session(struct sweeping *s, struct session *session, struct sweep_end *e)
{
	const struct options *o = s->x->o;
	const struct train_watch watch = { .self = s, .stepped = stepped, .validated = validated,
		.decides = o->sweep_stop != NULL };
	const struct train_options to = { .resume = o->resume, .progress = PROGRESS_NONE,
		.watch = &watch };
	struct train_result r;
	s->counts = strcmp(target_metric(session->config), s->metric) == 0;
	TRY(o->resume ? 0 : interop_begin(session));
	const int rc = train(session, &to, &r);
	e->step = r.step;
	e->seconds = r.seconds;
	if (s->counts && !isnan(r.validations.best)) {
		e->best = validations_best(&r.validations, session->config);
		e->best_step = r.validations.best_step;
	}
	e->state = r.stopped ? SWEEP_STOPPED : r.called_off ? SWEEP_CALLED_OFF : SWEEP_DONE;
	return rc;
}

static int train_alone(struct sweeping *s, struct sweep_end *e)
{
	const struct options *o = s->x->o;
	struct run_config *config = NULL;
	struct session *session;
	const struct session_options so = { .comm = s->team,
		.need = SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN, .ranks = 1, .device = o->device,
		.wisdom = o->wisdom, .resume = o->resume, .quiet = true,
		.stage = sweep_data_staging(s->data), .host_ranks = s->host_ranks,
		.sharing = s->sharing };
	int rc = ranks_agree(s->team, read_config(s, &config), "the config");
	if (rc < 0) {
		config_free(config);
		return rc;
	}
	TRY(session_open(&session, config, &so));
	rc = train_session(s, session, e);
	session_close(session);
	return rc;
}

static bool failed_alone(const struct sweeping *s)
{
	return comm_many(s->team) && ranks_failure() == RANKS_ALONE;
}

/* The first line of the error that this rank has: its own, or that of the rank that failed. */
static const char *first_line(int rc, char text[400])
{
	const struct err_entry *e = err_count() ? err_get(0) : NULL;
	if (e && e->loc.file)
		snprintf(text, 400, "%s:%d:%d: %s", e->loc.file, e->loc.line, e->loc.col, e->text);
	else
		snprintf(text, 400, "%s", e ? e->text : err_name(rc));
	return text;
}

/* Prints the error once, and forgets it. */
static void recover(struct sweeping *s, const char *name)
{
	char program[320];
	snprintf(program, sizeof program, "dlx-train: %s", name);
	fflush(stdout);
	if (!comm_many(s->team) || comm_prints(s->team))
		err_print(stderr, program);
	err_clear();
	ranks_forget_failure(s->team);
}

/* Makes a run and reports how it ended. An error ends the job. */
static int make_run(struct sweeping *s)
{
	const char *name = s->sweep->run[s->run].name;
	struct sweep_end e = { .best = NAN, .best_step = -1 };
	const double begun = io_seconds();
	char text[400], program[320];
	snprintf(program, sizeof program, "dlx-train: %s", name);
	log_init(program, s->all->rank, s->all->size);
	log_quiet(1);
	const int rc = train_alone(s, &e);
	log_init("dlx-train", s->all->rank, s->all->size);
	TRY(s->failed);
	if (rc < 0) {
		e.state = SWEEP_FAILED;
		e.status = err_exit_status(rc);
		e.text = first_line(rc, text);
		e.seconds = io_seconds() - begun;
	} else if (e.state == SWEEP_STOPPED)
		e.status = err_exit_status(E_STOPPED);
	const bool ends_job = rc < 0 && failed_alone(s);
	if (ends_job || comm_first(s->team)) {
		const int reported = sweep_desk_end(s->desk, s->run, &e);
		if (ends_job)
			return rc;
		TRY(reported);
	}
	if (rc < 0)
		recover(s, name);
	return 0;
}

/* --- a team --- */

static int next_run(struct sweeping *s, int ranks)
{
	int rc = 0;
	s->run = -1;
	if (comm_first(s->team)) {
		if (signals_pending())
			rc = sweep_desk_stop(s->desk);
		if (rc == 0)
			rc = sweep_desk_next(s->desk, ranks, &s->run);
	}
	TRY(rc);
	if (comm_many(s->team))
		comm_broadcast(s->team, &s->run, sizeof s->run, 0, "the next run of the sweep");
	return 0;
}

static int make_runs(struct sweeping *s, int ranks)
{
	do {
		TRY(next_run(s, ranks));
		if (s->run >= 0)
			TRY(make_run(s));
	} while (s->run >= 0);
	return 0;
}

/* Other teams may take hours longer: no collective waits for them. */
static int await_teams(struct sweeping *s, int ranks)
{
	bool busy = true;
	TRY(sweep_desk_busy(s->desk, ranks, &busy));
	while (busy) {
		nanosleep(&(struct timespec){ 0, POLL }, NULL);
		TRY(sweep_desk_busy(s->desk, ranks, &busy));
	}
	return 0;
}

/* All runs of one number of ranks. The ranks that do not fill a team wait. */
static int make_teams(struct sweeping *s, int ranks)
{
	const int teams = s->all->size / ranks, mine = s->all->rank / ranks;
	const bool idle = mine >= teams;
	if (!comm_many(s->all)) {
		s->team = s->all;
		return make_runs(s, ranks);
	}
	comm_subgroup(&s->team, s->all, idle ? teams : mine);
	if (!idle)
		TRY(make_runs(s, ranks));
	TRY(await_teams(s, ranks));
	comm_subgroup_close(s->team);
	comm_rejoin(s->all);
	return 0;
}

/* --- all --- */

static int check_ranks(const struct sweeping *s)
{
	for (int i = 0; i < s->sweep->ranks.n; i++)
		if (s->sweep->ranks.v[i] > s->all->size)
			return ERR(E_USAGE, &s->sweep->ranks_loc, "the sweep has runs on %d ranks, and this "
			           "job has %d; start more: mpiexec -n %d dlx-train --sweep=...",
			           (int)s->sweep->ranks.v[i], s->all->size, (int)s->sweep->ranks.v[i]);
	return 0;
}

static int open_all(struct sweeping *s)
{
	const struct options *o = s->x->o;
	const bool show = s->base->report.progress != PROGRESS_NONE && !o->quiet;
	int live = show && comm_first(s->all) && isatty(STDOUT_FILENO);
	TRY(ranks_agree(s->all, sweep_read(&s->sweep, o->sweep), "the sweep"));
	TRY(ranks_agree(s->all, check_ranks(s), "the sweep"));
	if (comm_many(s->all)) {
		comm_broadcast(s->all, &live, sizeof live, 0, "whether there is a terminal");
		s->host_ranks = s->all->local_size;
		s->sharing = ranks_sharing(s->all);
		ranks_share_isa(s->all);
	}
	s->live = live;
	s->metric = target_metric(s->base);
	const struct sweep_desk_options d = { .sweep = s->sweep, .comm = s->all,
		.dir = s->base->run.dir, .metric = s->metric, .rises = metric_rises(s->metric),
		.resume = o->resume != NULL, .median = o->sweep_stop != NULL, .live = live,
		.quiet = !show };
	TRY(sweep_desk_open(&s->desk, &d));
	return sweep_data_open(&s->data, s->all, s->sweep, o, s->base);
}

/* The exit status: of the first run that failed; 75 if runs are missing for another reason. */
static int status_of(const struct sweeping *s)
{
	const struct sweep_row *row = sweep_desk_rows(s->desk);
	bool missing = false;
	for (int i = 0; i < s->sweep->n; i++) {
		if (row[i].state == SWEEP_FAILED)
			return row[i].status;
		missing |= row[i].state == SWEEP_STOPPED || row[i].state == SWEEP_WAITS;
	}
	return missing ? err_exit_status(E_STOPPED) : 0;
}

/* What staging has read for all runs, on all ranks. */
static void put_data(const struct sweeping *s, struct buf *out)
{
	const struct staging_counts n = staging_counts(sweep_data_staging(s->data));
	double bytes[] = { (double)n.read, (double)n.sent };
	char read[32], sent[32];
	if (comm_many(s->all))
		comm_sum(s->all, bytes, 2, "the bytes that were staged");
	if (sweep_data_staging(s->data))
		buf_printf(out, "data: %s read for all runs (%.0f bytes), %s sent to other ranks\n",
		           bytes_text(bytes[0], read), bytes[0], bytes_text(bytes[1], sent));
}

static void finish(struct sweeping *s)
{
	struct buf table = BUF_INIT, data = BUF_INIT;
	int status = 0;
	put_data(s, &data);
	if (comm_first(s->all)) {
		status = status_of(s);
		sweep_table(&table, s->sweep, sweep_desk_rows(s->desk), s->metric,
		            sweep_desk_best(s->desk), s->base->run.dir);
		buf_puts(&table, data.data);
	}
	if (comm_many(s->all))
		comm_broadcast(s->all, &status, sizeof status, 0, "the status of the sweep");
	s->x->status = status;
	sweep_desk_close(s->desk, false);
	if (!s->x->o->quiet && s->base->report.progress != PROGRESS_NONE)
		fwrite(table.data, 1, table.len, stdout);
	buf_release(&table);
	buf_release(&data);
}

int sweep_command(struct invocation *x)
{
	struct sweeping s = { .x = x, .all = x->c, .base = x->config };
	signals_watch();
	int rc = open_all(&s);
	for (int i = 0; rc == 0 && i < s.sweep->ranks.n; i++)
		rc = make_teams(&s, (int)s.sweep->ranks.v[i]);
	const bool alone = rc < 0 && comm_many(s.all) && ranks_failure() == RANKS_ALONE;
	if (rc == 0)
		finish(&s);
	else if (s.desk)
		sweep_desk_close(s.desk, alone);
	sweep_data_close(s.data, alone);
	sweep_free(s.sweep);
	config_free(x->config);
	x->config = NULL;
	return rc;
}
