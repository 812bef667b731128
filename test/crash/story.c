/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Telling stories; see story.h. */
#include "story.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "ckpt/collect.h"
#include "ckpt/refs.h"

void story_begin(struct story *t, bool shared, int keep)
{
	*t = (struct story){ .lies = t->lies, .size = STORY_SIZE, .s = sim_new() };
	t->s->lies = t->lies;
	t->shared = shared;
	t->config = (struct ckpt_config){ .keep = { .last = keep }, .compression = 1,
		.store = shared ? STORY_STORE : NULL };
}

void story_end(struct story *t)
{
	for (int i = 0; i < STORY_RUNS; i++)
		ckpt_close(t->store[i]);
	sim_free(t->s);
}

const char *story_dir(int run)
{
	static const char *const dirs[STORY_RUNS] = {
		STORY_ROOT "/a/checkpoints", STORY_ROOT "/b/checkpoints"
	};
	return dirs[run];
}

const char *story_root(const struct story *t, int run)
{
	return t->shared ? STORY_STORE : story_dir(run);
}

static void try(struct story *t, int rc)
{
	if (rc < 0)
		t->failed = true;
}

void story_promise(struct story *t, enum promise_kind kind, int run, int save, const char *name)
{
	struct promise p = { .call = t->s->ncalls, .kind = kind, .run = run, .save = save };
	BUG_IF(t->npromises == (int)(sizeof t->promise / sizeof *t->promise), "too many promises");
	memcpy(p.id, t->last[run], sizeof p.id);
	snprintf(p.name, sizeof p.name, "%s", name);
	t->promise[t->npromises++] = p;
}

void story_from_here(struct story *t)
{
	t->from = t->s->ncalls;
}

void story_open(struct story *t, int run)
{
	t->disk[run] = sim_process(t->s);
	try(t, ckpt_open_on(&t->store[run], t->disk[run], story_dir(run), &t->config, NULL));
}

static void take_promises(struct story *t, int run)
{
	struct ckpt_done done;
	while (ckpt_poll(t->store[run], &done)) {
		memcpy(t->last[run], done.id, sizeof t->last[run]);
		story_promise(t, PROMISE_SAVED, run, (int)(done.step / 10), "");
	}
}

void story_save(struct story *t, int run, int save)
{
	struct story_state f;
	if (!t->store[run]) {
		t->failed = true;
		return;
	}
	story_state_make(&f, run, save, t->size);
	int rc = ckpt_save(t->store[run], &f.state);
	if (rc == 0)
		rc = ckpt_wait(t->store[run]);
	story_state_release(&f);
	try(t, rc);
	take_promises(t, run);
}

void story_open_ranks(struct story *t)
{
	char job[32];
	snprintf(job, sizeof job, "job-%08d", ++t->jobs);
	for (int rank = 0; rank < 2; rank++) {
		const struct ckpt_share share = { rank, 2, job };
		t->disk[rank] = sim_process(t->s);
		try(t, ckpt_open_on(&t->store[rank], t->disk[rank], story_dir(0), &t->config, &share));
	}
}

void story_save_ranks(struct story *t, int save)
{
	struct story_state f;
	story_state_make(&f, 0, save, t->size);
	for (int rank = 0; rank < 2 && !t->failed; rank++)
		try(t, ckpt_save(t->store[rank], &f.state));
	for (int rank = 0; rank < 2 && t->store[rank]; rank++)
		try(t, ckpt_wait(t->store[rank]));
	story_state_release(&f);
	if (t->store[0])
		take_promises(t, 0);
}

void story_close(struct story *t, int run)
{
	ckpt_close(t->store[run]);
	t->store[run] = NULL;
	if (t->disk[run])
		sim_end(t->disk[run]);
	t->disk[run] = NULL;
}

void story_tag(struct story *t, int run, const char *name, int save)
{
	story_promise(t, PROMISE_TAG_OPEN, run, save, name);
	int rc = refs_set_tag(t->disk[run], story_root(t, run), name, t->last[run]);
	if (rc == 0)
		story_promise(t, PROMISE_TAG, run, save, name);
	try(t, rc);
}

void story_pin(struct story *t, int run)
{
	int rc = refs_set_pin(t->disk[run], story_root(t, run), t->last[run]);
	if (rc == 0)
		story_promise(t, PROMISE_PIN, run, 0, "");
	try(t, rc);
}

void story_collect(struct story *t, int run)
{
	struct collected c;
	char name[32];
	snprintf(name, sizeof name, "collect-%d-%d", run, t->s->ncalls);
	try(t, collect_packs(&c, t->disk[run], story_root(t, run), name, false));
}
