/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first step is not counted, as in all rates, since it touches memory for the first time. */
#include "train/diagnose/slow_watch.h"

#include "base/debug.h"
#include "base/io.h"
#include "base/log.h"
#include "comm/comm.h"
#include "plan/sums/reduction.h"

#define LEAST 10.0               /* seconds of a whole run worth a word */
#define WINDOW 60.0              /* seconds until it is clear while a run goes on */
#define AGAIN 3600.0             /* seconds between words */
#define STEPS 10                 /* fewer say nothing about a best one */
#define SLOW "the run is slow (%.4g samples/s, its best step %.4g): %s"

void slow_watch_begin(struct slow_watch *w, const struct session *s)
{
	*w = (struct slow_watch){ .s = s };
}

static struct slow_mark mark(const struct slow_watch *w)
{
	struct slow_mark m = { io_seconds(), w->samples, w->stepping, w->data,
		session_waited(w->s), { 0 } };
	host_load(&m.host);
	return m;
}

void slow_watch_step(struct slow_watch *w, double seconds, double waited, double samples)
{
	if (w->steps++ == 0) {
		w->begun = w->hour = mark(w);
		return;
	}
	w->samples += samples;
	w->stepping += seconds;
	w->data += waited;
}

/* A thread that has ended takes its numbers along. */
static double grown(double now, double then)
{
	return now < then ? 0 : now - then;
}

static struct slow_evidence evidence(const struct slow_watch *w, const struct slow_mark *from,
                                     double best)
{
	const struct slow_mark now = mark(w);
	const struct host_load *a = &from->host, *b = &now.host;
	struct slow_evidence e = { .seconds = now.at - from->at, .best = best,
		.data = now.data - from->data, .ranks = now.ranks - from->ranks,
		.threads = w->s->dev->threads, .decode_threads = loader_threads(w->s->train),
		.processors = host_processors(), .gpu = w->s->dev->backend == BACKEND_CUDA };
	e.sustained = e.seconds > 0 ? (now.samples - from->samples) / e.seconds : 0;
	e.between = grown(e.seconds, now.stepping - from->stepping);
	e.host = (struct host_load){ grown(b->cpu_seconds, a->cpu_seconds),
		grown(b->queued_seconds, a->queued_seconds), grown(b->involuntary, a->involuntary),
		grown(b->periods, a->periods), grown(b->throttled_periods, a->throttled_periods),
		grown(b->throttled_seconds, a->throttled_seconds), b->load };
	return e;
}

static void say(const struct slow_watch *w, const struct slow_evidence *e, unsigned reasons)
{
	for (int i = 0; i < SLOW_REASONS; i++) {
		struct buf text = BUF_INIT;
		if (!(reasons & 1u << i))
			continue;
		slow_text(e, i, &text);
		if (comm_first(w->s->comm))
			note(SLOW, e->sustained, e->best, text.data);
		else
			warn(SLOW, e->sustained, e->best, text.data);
		buf_release(&text);
	}
}

/* Whether it is time to look. */
static bool due(const struct slow_watch *w, bool end)
{
	const double seconds = io_seconds() - (end ? w->begun.at : w->hour.at);
	return w->steps > 1 && (debug.slow || (w->steps > STEPS && seconds >= (end ? LEAST : WINDOW)));
}

/* At the end, or once an hour. */
static bool may_say(struct slow_watch *w, bool end)
{
	const double now = io_seconds();
	if (end)
		return true;
	if (w->reported && now - w->reported_at < AGAIN)
		return false;
	w->reported = true;
	w->reported_at = now;
	return true;
}

int slow_watch_look(struct slow_watch *w, const struct rates *r, struct journal *j,
                    const struct journal_at *at, bool end)
{
	struct buf json = BUF_INIT;
	int rc = 0;
	if (!due(w, end))
		return 0;
	struct slow_evidence e = evidence(w, end ? &w->begun : &w->hour, r->best);
	const unsigned reasons = debug.slow || slow_is(&e) ? slow_reasons(&e) : 0;
	if (!end && e.seconds >= AGAIN)
		w->hour = mark(w);
	if (!reasons || !may_say(w, end))
		return 0;
	if (j || (r->spread.ranks && r->spread.slowest == w->s->comm->rank))
		say(w, &e, reasons);
	if (j) {
		slow_json(&e, reasons, &json);
		rc = journal_slow(j, at, json.data);
	}
	buf_release(&json);
	return rc;
}
