/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each call of a story fails, once or from there on for ever: nothing that was durable is lost, and
 * when the fault is gone the next save works, of the same process and of the next one. */
#include "crash_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "stories.h"

struct fault_kind {
	const char *name;
	unsigned kinds;
	int error;
	bool for_ever, drop;           /* for ever too; a failed sync drops the data at once */
};

static const struct fault_kind kinds[] = {
	{ "EIO", SIM_ANY, EIO, true, false },
	{ "ENOSPC", SIM_CHANGES, ENOSPC, true, false },
	{ "EDQUOT", SIM_CHANGES, EDQUOT, true, false },
	{ "EROFS", SIM_CHANGES & ~SIM_BIT(SYNC), EROFS, true, false },
	{ "EINTR", SIM_BIT(OPEN) | SIM_BIT(MAKE) | SIM_BIT(SYNC) | SIM_TRANSFERS, EINTR, false, false },
	{ "ENOENT", SIM_BIT(RENAME), ENOENT, false, false },
	{ "short transfer", SIM_TRANSFERS, 0, true, false },
	{ "failed sync", SIM_BIT(SYNC), EIO, true, true },
};

/* What the story does while calls fail. Errors are expected. */
static void tell(struct story *t, const struct sim_fault *fault)
{
	story_begin(t, false, 1);
	story_open(t, 0);
	story_save(t, 0, 1);
	sim_set_fault(t->disk[0], fault);
	story_save(t, 0, 2);
	story_pin(t, 0);
	story_save(t, 0, 3);
	story_collect(t, 0);
}

static int newest_saved(const struct story *t)
{
	int save = 0;
	for (int i = 0; i < t->npromises; i++)
		if (t->promise[i].kind == PROMISE_SAVED && t->promise[i].save > save)
			save = t->promise[i].save;
	return save;
}

/* The process goes on without the fault. Its first save may report what failed before. */
static bool same_process_saves(struct story *t, struct buf *why)
{
	err_clear();
	for (int i = 0; i < 3 && newest_saved(t) < 4; i++)
		story_save(t, 0, 4);
	bool good = newest_saved(t) >= 4;
	if (!good)
		buf_printf(why, "no save works any more: %s", err_count() ? err_get(0)->text : "");
	err_clear();
	return good;
}

/* A power cut at the end, which takes all that was not synced. */
static bool survives_cut(const struct story *t, bool all, struct buf *why)
{
	int pending[512];
	bool kept[512] = { 0 };
	const int n = sim_pending(t->s, t->s->ncalls, pending, 512);
	for (int i = 0; i < n && i < 512; i++)
		kept[i] = all;
	struct sim *after = sim_after(t->s, &(struct sim_crash){ .calls = t->s->ncalls,
		.npending = n, .pending = pending, .kept = kept, .torn = -1 });
	bool good = story_judge(t, after, t->s->ncalls, 0, why);
	sim_free(after);
	return good;
}

struct fault_count {
	long cases, wrong;
};

/* Runs a story with a fault after this many calls. false: the story makes fewer calls. */
static bool one(const struct fault_kind *k, int after, bool for_ever, struct fault_count *c)
{
	const struct sim_fault fault = { k->kinds, after, for_ever ? INT_MAX : 1, k->error, k->drop };
	struct story t = { 0 };
	struct buf why = BUF_INIT;
	tell(&t, &fault);
	const bool met = sim_faults_met(t.disk[0]) > 0;
	sim_set_fault(t.disk[0], NULL);
	bool good = survives_cut(&t, false, &why) && survives_cut(&t, true, &why) &&
	            same_process_saves(&t, &why) && survives_cut(&t, false, &why);
	story_close(&t, 0);
	if (good)
		good = survives_cut(&t, true, &why);
	c->cases += met;
	if (!good && c->wrong++ < 5)
		printf("  %s %s call %d: %s\n", k->name, for_ever ? "from" : "at", after, why.data);
	buf_release(&why);
	err_clear();
	story_end(&t);
	return met;
}

long crash_part_faults(const struct crash_form *f)
{
	struct fault_count c = { 0 };
	const double start = io_seconds();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct fault_count of = { 0 };
		for (int ever = 0; ever <= kinds[i].for_ever; ever++)
			for (int k = 0; one(&kinds[i], k, ever == 1, &of); k += f->all ? 1 : 7)
				;
		if (f->verbose)
			printf("  %-28s %7ld faults, %ld wrong\n", kinds[i].name, of.cases, of.wrong);
		c.cases += of.cases;
		c.wrong += of.wrong;
	}
	printf("faults: %ld, wrong: %ld (%.1f s)\n", c.cases, c.wrong, io_seconds() - start);
	return c.wrong;
}
