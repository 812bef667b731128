/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stories.h. */
#include "stories.h"

#include <string.h>

#include "base/err.h"

/* Nothing was there before. */
static void first(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, false, 2);
	story_open(t, 0);
	story_save(t, 0, 1);
	story_close(t, 0);
}

/* Chunks of the version before are not written again. */
static void second(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, false, 3);
	story_open(t, 0);
	story_save(t, 0, 2);
	story_from_here(t);
	story_save(t, 0, 3);
	story_close(t, 0);
}

/* Old versions go, then packs; then a pack of which a part is needed is packed anew. */
static void retention(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, false, 1);
	story_open(t, 0);
	story_save(t, 0, 1);
	story_save(t, 0, 2);
	story_from_here(t);
	story_save(t, 0, 3);
	story_save(t, 0, 4);
	story_collect(t, 0);
	story_close(t, 0);
}

static void named(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, false, 1);
	story_open(t, 0);
	story_save(t, 0, 1);
	story_from_here(t);
	story_tag(t, 0, "gold", 1);
	story_save(t, 0, 2);
	story_pin(t, 0);
	story_save(t, 0, 3);
	story_tag(t, 0, "gold", 3);
	story_collect(t, 0);
	story_close(t, 0);
}

/* Two runs save in turn, and one of them collects while the other has its store open. */
static void two_runs(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, true, 1);
	story_open(t, 0);
	story_open(t, 1);
	story_save(t, 0, 1);
	story_from_here(t);
	story_save(t, 1, 1);
	story_save(t, 0, 2);
	story_save(t, 1, 2);
	story_collect(t, 0);
	story_save(t, 0, 3);
	story_close(t, 0);
	story_close(t, 1);
}

/* A run goes on from another one's version, in one store. */
static void forked(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, true, 1);
	story_open(t, 0);
	story_save(t, 0, 1);
	story_from_here(t);
	story_open(t, 1);
	if (t->store[1])
		ckpt_set_parent(t->store[1], t->last[0]);
	story_save(t, 1, 2);
	story_save(t, 0, 2);
	story_close(t, 1);
	story_collect(t, 0);
	story_close(t, 0);
}

/* A process is killed in its second save; the next one counts on what it finds, of which nothing
 * has to be durable. Only what follows is judged. */
#define KILLS 40
static void killed(struct story *t, int nth)
{
	story_begin(t, false, 1);
	story_open(t, 0);
	story_save(t, 0, 1);
	sim_die_after(t->disk[0], 2 + 2 * nth);
	story_save(t, 0, 2);
	story_close(t, 0);
	err_clear();
	t->failed = false;
	story_from_here(t);
	story_open(t, 0);
	story_save(t, 0, 2);
	story_save(t, 0, 3);
	story_close(t, 0);
}

/* Processes go on and end; a torn line of the log does no harm. */
static void logged(struct story *t, int nth)
{
	(void)nth;
	story_begin(t, false, 2);
	story_open(t, 0);
	story_save(t, 0, 1);
	story_from_here(t);
	if (!t->failed) {
		ckpt_resumed(t->store[0], t->last[0]);
		ckpt_resumed(t->store[0], t->last[0]);
	}
	story_save(t, 0, 2);
	if (!t->failed)
		ckpt_ended(t->store[0]);
	story_close(t, 0);
}

/* Two ranks, each with a pack of its own: how far each of them is differs from course to course. */
#define PACES 24
static void two_ranks(struct story *t, int nth)
{
	story_begin(t, false, 1);
	story_open_ranks(t);
	story_save_ranks(t, 1);
	story_from_here(t);
	t->s->pause[0] = 1 + (nth % 2 ? 20u << nth / 4 : 20);
	t->s->pause[1] = 1 + (nth % 2 ? 20 : 20u << nth / 4);
	story_save_ranks(t, 2);
	t->s->pause[0] = t->s->pause[1] = 0;
	story_save_ranks(t, 3);
	story_close(t, 1);
	story_close(t, 0);
}

/* Two ranks are killed in their second save, rank 0 after 2 + 2 * nth of its calls, rank 1 at the
 * end: the next job counts on the packs that it finds, and rank 0 writes no rank's part itself. */
#define RANK_KILLS 12
static void killed_ranks(struct story *t, int nth)
{
	story_begin(t, false, 1);
	story_open_ranks(t);
	story_save_ranks(t, 1);
	sim_die_after(t->disk[0], 2 + 2 * nth);
	story_save_ranks(t, 2);
	story_close(t, 1);
	story_close(t, 0);
	err_clear();
	t->failed = false;
	story_from_here(t);
	story_open_ranks(t);
	story_save_ranks(t, 2);
	story_save_ranks(t, 3);
	for (int i = 0; i < t->s->ncalls; i++)
		if (t->s->call[i].kind == SIM_CALL_RENAME && strstr(t->s->call[i].path, "-late0.pack"))
			t->failed = true;
	story_close(t, 1);
	story_close(t, 0);
}

const struct tale tales[] = {
	{ "first save", first, 1, 15, 3 },
	{ "second save", second, 1, 15, 2 },
	{ "retention", retention, 1, 150, 1 },
	{ "tags and pins", named, 1, 100, 1 },
	{ "log", logged, 1, 40, 1 },
	{ "two runs", two_runs, 1, 200, 1 },
	{ "fork", forked, 1, 100, 1 },
	{ "two ranks", two_ranks, PACES, 150, 0 },
	{ "killed ranks", killed_ranks, RANK_KILLS, 150, 0 },
	{ "killed, then a crash", killed, KILLS, 150, 0 },
};
const int ntales = (int)(sizeof tales / sizeof *tales);
