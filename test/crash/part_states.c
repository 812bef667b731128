/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Crash states of all stories, and of the same stories on a disk that lies, which must be
 * noticed. */
#include "crash_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "stories.h"

struct judged {
	const struct story *t;
	int depth;
};

static bool judge(void *arg, struct sim *after, int calls, struct buf *why)
{
	const struct judged *j = arg;
	return story_judge(j->t, after, calls, j->depth, why);
}

static int promised(void *arg, int calls)
{
	return story_promised(((const struct judged *)arg)->t, calls);
}

/* false: the story does not come to its end. */
static bool walk(const struct tale *tale, int nth, unsigned lies, const struct crash_limits *limits,
                 int depth, struct crash_counts *counts)
{
	struct story t = { .lies = lies };
	long again = 0;
	err_clear();
	tale->tell(&t, nth);
	t.again = &again;
	bool told = !t.failed;
	if (!told)
		printf("'%s' fails: %s\n", tale->name, err_count() ? err_get(0)->text : "without a reason");
	else {
		struct judged j = { &t, depth };
		crash_walk(t.s, t.from, t.s->ncalls, limits, &(struct crash_judge){ judge, promised, &j },
		           counts);
	}
	counts->states += again;
	story_end(&t);
	return told;
}

/* Crashes of the recovery are tried after a share of the states alone. */
static long states_of(const struct crash_form *f, const struct tale *tale,
                      struct crash_counts *total)
{
	struct crash_limits limits = { .random = 10, .share = f->all ? 1 : tale->share,
		.seed = f->seed };
	struct crash_counts c = { 0 };
	const double start = io_seconds();
	long failed = 0;
	for (int nth = 0; nth < tale->courses; nth += f->all ? 1 : 9) {
		failed += !walk(tale, nth, 0, &limits, 0, &c);
		struct crash_limits fewer = limits;
		fewer.share *= 200;
		for (int depth = 1; depth <= tale->depth && f->all; depth++, fewer.share *= 4)
			failed += !walk(tale, nth, 0, &fewer, depth, &c);
	}
	if (f->verbose)
		printf("  %-28s %7ld states, %ld wrong, %.1f s\n", tale->name, c.states, c.wrong,
		       io_seconds() - start);
	total->states += c.states;
	total->wrong += c.wrong;
	return c.wrong + failed;
}

long crash_part_states(const struct crash_form *f)
{
	struct crash_counts total = { 0 };
	const double start = io_seconds();
	long bad = 0;
	for (int i = 0; i < ntales; i++)
		if (!f->only || strstr(tales[i].name, f->only))
			bad += states_of(f, &tales[i], &total);
	printf("crash states: %ld, wrong: %ld (%.1f s)\n", total.states, total.wrong,
	       io_seconds() - start);
	return bad;
}

long crash_part_lies(const struct crash_form *f)
{
	static const struct {
		unsigned lies;
		const char *what;
	} of[] = {
		{ SIM_LIE_FOLDERS, "folders" }, { SIM_LIE_FILES, "files" }, { SIM_LIE_PACKS, "packs" },
	};
	const struct crash_limits limits = { .random = 2, .share = 3, .seed = f->seed, .quiet = true };
	const double start = io_seconds();
	long missed = 0;
	const int n = (int)(sizeof of / sizeof *of);
	for (int i = 0; i < n; i++) {
		struct crash_counts c = { 0 };
		bool told = walk(&tales[0], 0, of[i].lies, &limits, 0, &c);
		if (!told || c.wrong == 0) {
			printf("a disk that lies about the sync of %s is not noticed\n", of[i].what);
			missed++;
		}
	}
	printf("disks that lie: %d, not noticed: %ld (%.1f s)\n", n, missed, io_seconds() - start);
	return missed;
}
