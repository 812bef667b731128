/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Judging what a crash left of a story: the newest version loads bit for bit and is not older than
 * what was promised; tags and pins are there with what they keep; a run goes on, saves, and what it
 * saves loads; nothing is left over. Then the same of crashes of this recovery. */
#include "story.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/manifest.h"
#include "ckpt/refs.h"
#include "ckpt/run_link.h"

#define NEXT_SAVE 100                  /* the save of a run that goes on, plus the depth */
#define AFTER_ALL ((int64_t)3 * 24 * 3600)   /* seconds until all that is left over is old */

static bool wrong(struct buf *why, const char *what)
{
	buf_printf(why, "%s: %s", what, err_count() ? err_get(err_count() - 1)->text : "no error");
	return false;
}

static bool in_story(const struct story *t, int run)
{
	for (int i = 0; i < t->npromises; i++)
		if (t->promise[i].run == run)
			return true;
	return false;
}

static int saved(const struct story *t, int run, int calls)
{
	int save = 0;
	for (int i = 0; i < t->npromises; i++) {
		const struct promise *p = &t->promise[i];
		if (p->call <= calls && p->kind == PROMISE_SAVED && p->run == run && p->save > save)
			save = p->save;
	}
	return save;
}

int story_promised(const struct story *t, int calls)
{
	int n = 0;
	while (n < t->npromises && t->promise[n].call <= calls)
		n++;
	return n;
}

/* --- loading --- */

/* Which save of which run loads; *save = 0 if there is none. */
static bool load(struct disk *d, int run, const char *which, int *of, int *save, struct buf *why)
{
	struct ckpt_version *v;
	*of = run;
	*save = 0;
	if (ckpt_load_on(&v, d, story_dir(run), which) < 0)
		return wrong(why, "a version does not load");
	if (!v)
		return true;
	bool good = story_state_is(v, of, save, STORY_SIZE, why);
	ckpt_version_free(v);
	return good;
}

static bool loads_newest(const struct story *t, struct disk *d, int calls, struct buf *why)
{
	for (int run = 0; run < STORY_RUNS; run++) {
		const int least = saved(t, run, calls);
		int of, save;
		if (!in_story(t, run))
			continue;
		if (!load(d, run, "auto", &of, &save, why))
			return false;
		if (least && (of != run || save < least)) {
			buf_printf(why, "save %d of run %d loads, but save %d of run %d was durable", save, of,
			           least, run);
			return false;
		}
	}
	return true;
}

/* Whether promise i still holds after this many calls. */
static bool holds(const struct story *t, int i, int calls)
{
	const struct promise *p = &t->promise[i];
	if (p->call > calls)
		return false;
	for (int k = i + 1; k < t->npromises && t->promise[k].call <= calls; k++)
		if (p->kind == PROMISE_TAG && t->promise[k].kind == PROMISE_TAG_OPEN &&
		    strcmp(t->promise[k].name, p->name) == 0)
			return false;
	return true;
}

static bool keeps_ref(const struct story *t, struct disk *d, const struct promise *p,
                      struct buf *why)
{
	struct refs r;
	int of, save;
	if (refs_read(&r, d, story_root(t, p->run)) < 0)
		return wrong(why, "tags and pins cannot be read");
	const char *id = p->kind == PROMISE_TAG ? refs_find(&r, p->name) : p->id;
	bool there = id && strcmp(id, p->id) == 0 && refs_keep(&r, p->id);
	refs_release(&r);
	if (!there)
		return wrong(why, "a tag or a pin is lost");
	if (!load(d, p->run, p->id, &of, &save, why))
		return false;
	return p->kind == PROMISE_PIN || save == p->save || wrong(why, "a tag leads elsewhere");
}

static bool keeps_refs(const struct story *t, struct disk *d, int calls, struct buf *why)
{
	for (int i = 0; i < t->npromises; i++) {
		const bool ref = t->promise[i].kind == PROMISE_TAG || t->promise[i].kind == PROMISE_PIN;
		if (ref && holds(t, i, calls) && !keeps_ref(t, d, &t->promise[i], why))
			return false;
	}
	return true;
}

/* Every version that the store shows. */
static bool all_load(const struct story *t, struct disk *d, struct buf *why)
{
	char *folder = io_join(story_root(t, 0), VERSIONS_FOLDER);
	struct disk_names names;
	bool good = disk_list(&names, d, folder) == 0;
	for (int i = 0; i < names.n && good; i++) {
		char id[CKPT_ID];
		int of, save;
		if (names.name[i][0] == '.')
			continue;
		snprintf(id, sizeof id, "%.*s", (int)strcspn(names.name[i], "."), names.name[i]);
		good = load(d, 0, id, &of, &save, why);
	}
	disk_names_release(&names);
	mem_free(folder);
	return good;
}

/* --- going on --- */

static bool save_next(const struct story *t, struct disk *d, int run, int save, struct buf *why)
{
	struct ckpt_store *store;
	struct story_state f;
	struct ckpt_done done;
	if (ckpt_open_on(&store, d, story_dir(run), &t->config, NULL) < 0)
		return wrong(why, "the store does not open");
	story_state_make(&f, run, save, STORY_SIZE);
	int rc = ckpt_save(store, &f.state);
	if (rc == 0)
		rc = ckpt_wait(store);
	bool good = rc == 0 && ckpt_poll(store, &done);
	if (!good)
		wrong(why, "the next save fails");
	story_state_release(&f);
	ckpt_close(store);
	return good;
}

static bool open_close(const struct story *t, struct disk *d, int run, struct buf *why)
{
	struct ckpt_store *store;
	if (ckpt_open_on(&store, d, story_dir(run), &t->config, NULL) < 0)
		return wrong(why, "the store does not open");
	ckpt_close(store);
	return true;
}

/* The runs go on, each a process; then the newest is the one that they saved. */
static bool goes_on(const struct story *t, struct sim *after, int depth, struct buf *why)
{
	for (int run = 0; run < STORY_RUNS; run++) {
		struct disk *d;
		int of, save;
		if (!in_story(t, run))
			continue;
		d = sim_process(after);
		if (!save_next(t, d, run, NEXT_SAVE - depth, why) || !load(d, run, "auto", &of, &save, why))
			return false;
		if (of != run || save != NEXT_SAVE - depth)
			return wrong(why, "the next save is not the newest");
		sim_end(d);
	}
	return true;
}

struct litter {
	const struct sim *s;
	struct buf *why;
	bool any;
};

static void find_litter(void *arg, const char *path, int file)
{
	struct litter *l = arg;
	const char *name = strrchr(path, '/') + 1;
	const bool held = strstr(path, "/hold/") != NULL;
	(void)file;
	if (strncmp(name, DISK_TMP, strlen(DISK_TMP)) != 0 && !held)
		return;
	buf_printf(l->why, "'%s' is left over", path);
	l->any = true;
}

/* When all that was left is old, opening the store once more tidies up. */
static bool tidy(const struct story *t, struct sim *after, struct buf *why)
{
	struct litter l = { after, why, false };
	after->time += AFTER_ALL;
	for (int run = 0; run < STORY_RUNS; run++) {
		struct disk *d = sim_process(after);
		if (in_story(t, run) && !open_close(t, d, run, why))
			return false;
		sim_end(d);
	}
	sim_image_walk(&after->now, find_litter, &l);
	return !l.any;
}

/* --- crashes of the recovery --- */

struct again {
	const struct story *t;
	int calls, depth;
	struct hash128 settled;
};

static int promised_again(void *arg, int calls)
{
	(void)arg;
	(void)calls;
	return 0;
}

static bool judge_again(void *arg, struct sim *after, int calls, struct buf *why)
{
	const struct again *a = arg;
	(void)calls;
	return story_judge(a->t, after, a->calls, a->depth, why);
}

/* Opening the stores leaves the same files whether it was interrupted before or not. The log may
 * say that it was. */
static bool settles(void *arg, struct sim *after, int calls, struct buf *why)
{
	const struct again *a = arg;
	(void)calls;
	if (!tidy(a->t, after, why))
		return false;
	bool same = hash128_equal(sim_image_hash(&after->now, "log"), a->settled);
	if (!same)
		buf_puts(why, "another state than without the second crash");
	return same;
}

static bool walk_again(const struct story *t, struct sim *s, struct again *a, bool tidying,
                       struct buf *why)
{
	struct crash_counts counts = { 0 };
	const struct crash_limits limits = { .random = 1, .share = tidying ? 10 : 40,
		.seed = (uint64_t)a->calls, .quiet = true };
	const struct crash_judge judge = { tidying ? settles : judge_again, promised_again, a };
	crash_walk(s, 0, s->ncalls, &limits, &judge, &counts);
	*t->again += counts.states;
	if (counts.wrong)
		buf_printf(why, "%ld of %ld crashes of the recovery go wrong, the first: %s", counts.wrong,
		           counts.states, counts.why);
	return counts.wrong == 0;
}

/* Whether all runs have the random names that they are given once. */
static bool known(const struct story *t, const struct sim *s)
{
	bool all = true;
	for (int run = 0; run < STORY_RUNS; run++) {
		char *path = io_join(story_dir(run), RUN_LINK_FILE), name[SIM_NAME];
		int dir, file = -1;
		if (in_story(t, run))
			all = all && sim_image_find(&s->now, path, &dir, name, &file) == 0 && file >= 0;
		mem_free(path);
	}
	return all;
}

static bool crashes_again(const struct story *t, const struct sim *after, int calls, int depth,
                          struct buf *why)
{
	struct again a = { .t = t, .calls = calls, .depth = depth - 1 };
	struct sim *saving = sim_copy(after), *tidying = sim_copy(after);
	bool good = goes_on(t, saving, depth, why) && walk_again(t, saving, &a, false, why);
	if (good && known(t, after) && tidy(t, tidying, why)) {
		a.settled = sim_image_hash(&tidying->now, "log");
		good = walk_again(t, tidying, &a, true, why);
	}
	sim_free(saving);
	sim_free(tidying);
	return good;
}

bool story_judge(const struct story *t, struct sim *after, int calls, int depth, struct buf *why)
{
	struct sim *fresh = depth > 0 ? sim_copy(after) : NULL;
	struct disk *reader = sim_process(after);
	bool good = loads_newest(t, reader, calls, why) && keeps_refs(t, reader, calls, why) &&
	            goes_on(t, after, depth, why) && keeps_refs(t, reader, calls, why) &&
	            all_load(t, reader, why) && tidy(t, after, why) && all_load(t, reader, why);
	err_clear();
	if (good && fresh)
		good = crashes_again(t, fresh, calls, depth, why);
	err_clear();
	sim_free(fresh);
	return good;
}
