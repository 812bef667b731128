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

/* Rank 1 is a save ahead while rank 0 still removes what the save before has made superfluous: its
 * pack, which no manifest names yet, stays. Rank 0 would else wait for it for 20 seconds and write
 * what is missing in a pack of another name. */
static void rank_ahead(struct story *t, int nth)
{
	struct story_state f[5];           /* 3 and 4: rank 1 has a new chunk in each */
	(void)nth;
	story_begin(t, false, 1);
	story_open_ranks(t);
	story_save_ranks(t, 1);
	story_from_here(t);
	t->s->pause[0] = 2000;
	for (int save = 3; save < 5; save++)
		story_state_make(&f[save], 0, save, t->size);
	for (int rank = 0; rank < 2 && !t->failed; rank++)
		t->failed = ckpt_save(t->store[rank], &f[3].state) < 0;
	if (!t->failed)                    /* which waits for the first one of rank 1 alone */
		t->failed = ckpt_save(t->store[1], &f[4].state) < 0 || ckpt_wait(t->store[1]) < 0;
	if (!t->failed)
		t->failed = ckpt_save(t->store[0], &f[4].state) < 0 || ckpt_wait(t->store[0]) < 0;
	t->s->pause[0] = 0;
	for (int i = 0; i < t->s->ncalls; i++)
		if (t->s->call[i].kind == SIM_CALL_RENAME && strstr(t->s->call[i].path, "-late0.pack"))
			t->failed = true;
	story_promise(t, PROMISE_SAVED, 0, 4, "");
	for (int save = 3; save < 5; save++)
		story_state_release(&f[save]);
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
	{ "a rank ahead", rank_ahead, 1, 40, 0 },
	{ "killed, then a crash", killed, KILLS, 150, 0 },
};
const int ntales = (int)(sizeof tales / sizeof *tales);
