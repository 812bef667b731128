/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A question is a small message whose answer is one number. On the first rank, and in a sweep of
 * one process, a question is a call. */
#include "cli/sweep/sweep_desk.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/sweep/sweep_journal.h"
#include "cli/sweep/sweep_live.h"
#include "cli/sweep/sweep_median.h"
#include "comm/fetch.h"

enum verb { NEXT, BUSY, STOP, STEP, VALUE, END };

struct message {
	int64_t step, steps, best_step;
	double value, seconds;
	int32_t verb, run, ranks, state, status, from;
	char text[sizeof ((struct sweep_row *)0)->text];
};
_Static_assert(sizeof(struct message) <= FETCH_NOTE, "a message fits in a note");

struct sweep_desk {
	struct sweep_desk_options o;
	struct sweep_row *row;
	struct sweep_journal *journal;
	struct sweep_live *live;
	struct fetch *fetch;         /* NULL: one process */
	pthread_mutex_t lock;
	bool stopped;
};

/* --- answers --- */

static int next(struct sweep_desk *d, const struct message *m)
{
	const struct sweep *s = d->o.sweep;
	for (int i = 0; i < s->n && !d->stopped; i++) {
		struct sweep_row *r = &d->row[i];
		if (r->state != SWEEP_WAITS || s->run[i].ranks != m->ranks)
			continue;
		r->state = SWEEP_RUNS;
		r->first = m->from;
		r->seconds = io_seconds();
		sweep_journal_begin(d->journal, i);
		sweep_live_begin(d->live, d->row, i);
		return i;
	}
	return -1;
}

static int busy(struct sweep_desk *d, const struct message *m)
{
	for (int i = 0; i < d->o.sweep->n; i++)
		if (d->o.sweep->run[i].ranks == m->ranks &&
		    (d->row[i].state == SWEEP_RUNS || (d->row[i].state == SWEEP_WAITS && !d->stopped)))
			return 1;
	return 0;
}

static int stop(struct sweep_desk *d, const struct message *m)
{
	d->stopped = true;
	return 0;
}

static int step(struct sweep_desk *d, const struct message *m)
{
	struct sweep_row *r = &d->row[m->run];
	r->step = m->step;
	r->steps = m->steps;
	r->loss = m->value;
	sweep_live_draw(d->live, d->row);
	return 0;
}

/* Whether the run is to go on. */
static int value(struct sweep_desk *d, const struct message *m)
{
	struct sweep_row *r = &d->row[m->run];
	sweep_row_add(r, m->step, m->value, d->o.rises);
	sweep_journal_value(d->journal, m->run, m->step, m->value);
	sweep_live_draw(d->live, d->row);
	return !d->o.median || !sweep_hopeless(d->row, d->o.sweep->n, m->run, m->step, d->o.rises);
}

static int end(struct sweep_desk *d, const struct message *m)
{
	struct sweep_row *r = &d->row[m->run];
	r->state = (enum sweep_state)m->state;
	r->status = m->status;
	r->step = m->step;
	r->best = m->value;
	r->best_step = m->best_step;
	r->seconds = m->seconds;
	memcpy(r->text, m->text, sizeof r->text);
	d->stopped |= r->state == SWEEP_STOPPED;
	sweep_journal_end(d->journal, m->run, r);
	sweep_live_end(d->live, d->row, m->run);
	return 0;
}

static int (*const verbs[])(struct sweep_desk *d, const struct message *m) = {
	[NEXT] = next, [BUSY] = busy, [STOP] = stop, [STEP] = step, [VALUE] = value, [END] = end,
};

static int take(struct sweep_desk *d, const struct message *m, int32_t *answer)
{
	pthread_mutex_lock(&d->lock);
	*answer = verbs[m->verb](d, m);
	const int rc = sweep_journal_failed(d->journal);
	d->stopped |= rc < 0;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

static int answer_fetch(void *self, const struct fetch_range *range, void *p)
{
	struct message m;
	memcpy(&m, range->note, sizeof m);
	return take(self, &m, p);
}

/* --- questions --- */

static int ask(struct sweep_desk *d, struct message *m, int *out)
{
	struct fetch_range range = { .n = sizeof(int32_t) };
	int32_t answer = 0;
	m->from = d->o.comm->rank;
	if (comm_first(d->o.comm)) {
		TRY(take(d, m, &answer));
	} else {
		memcpy(range.note, m, sizeof *m);
		TRY(fetch_ask(d->fetch, 0, &range, &answer));
	}
	*out = answer;
	return 0;
}

int sweep_desk_next(struct sweep_desk *d, int ranks, int *run)
{
	struct message m = { .verb = NEXT, .ranks = ranks };
	return ask(d, &m, run);
}

int sweep_desk_busy(struct sweep_desk *d, int ranks, bool *busy)
{
	struct message m = { .verb = BUSY, .ranks = ranks };
	int is = 0;
	TRY(ask(d, &m, &is));
	*busy = is;
	return 0;
}

int sweep_desk_stop(struct sweep_desk *d)
{
	struct message m = { .verb = STOP };
	int unused;
	return ask(d, &m, &unused);
}

int sweep_desk_step(struct sweep_desk *d, int run, int64_t step, int64_t steps, double loss)
{
	struct message m = { .verb = STEP, .run = run, .step = step, .steps = steps, .value = loss };
	int unused;
	return ask(d, &m, &unused);
}

int sweep_desk_value(struct sweep_desk *d, int run, int64_t step, double value, bool *go_on)
{
	struct message m = { .verb = VALUE, .run = run, .step = step, .value = value };
	int is = 1;
	TRY(ask(d, &m, &is));
	*go_on = is;
	return 0;
}

int sweep_desk_end(struct sweep_desk *d, int run, const struct sweep_end *e)
{
	struct message m = { .verb = END, .run = run, .state = (int32_t)e->state,
		.status = e->status, .step = e->step, .best_step = e->best_step, .value = e->best,
		.seconds = e->seconds };
	int unused;
	if (e->text)
		snprintf(m.text, sizeof m.text, "%s", e->text);
	return ask(d, &m, &unused);
}

/* --- opening and closing --- */

static int open_first(struct sweep_desk *d)
{
	const struct sweep *s = d->o.sweep;
	d->row = mem_calloc((size_t)s->n, sizeof *d->row);
	for (int i = 0; i < s->n; i++)
		d->row[i].best = d->row[i].loss = NAN;
	TRY(io_mkdirs(d->o.dir));
	TRY(sweep_journal_open(&d->journal, s, d->o.dir, d->o.metric, d->o.resume));
	sweep_journal_read(d->journal, d->row, d->o.rises);
	d->live = sweep_live_new(s, d->o.metric, d->o.rises, d->o.live, d->o.quiet);
	return 0;
}

int sweep_desk_open(struct sweep_desk **out, const struct sweep_desk_options *o)
{
	struct sweep_desk *d = mem_calloc(1, sizeof *d);
	*out = d;
	d->o = *o;
	pthread_mutex_init(&d->lock, NULL);
	int rc = comm_first(o->comm) ? open_first(d) : 0;
	rc = comm_many(o->comm) ? comm_agree(o->comm, rc, "opening the sweep") : rc;
	if (rc == 0 && comm_many(o->comm))
		rc = comm_agree(o->comm, fetch_open(&d->fetch, o->comm, 1, answer_fetch, d),
		                "opening the sweep");
	return rc;
}

void sweep_desk_close(struct sweep_desk *d, bool alone)
{
	if (!d)
		return;
	if (d->fetch && !alone)
		comm_barrier(d->o.comm, "the end of the sweep");
	fetch_close(d->fetch, alone);
	for (int i = 0; i < d->o.sweep->n && d->row; i++) {
		mem_free(d->row[i].at);
		mem_free(d->row[i].value);
	}
	sweep_live_free(d->live);
	sweep_journal_close(d->journal);
	mem_free(d->row);
	pthread_mutex_destroy(&d->lock);
	mem_free(d);
}

const struct sweep_row *sweep_desk_rows(const struct sweep_desk *d)
{
	return d->row;
}

int sweep_desk_best(const struct sweep_desk *d)
{
	return sweep_best(d->row, d->o.sweep->n, d->o.rises);
}
