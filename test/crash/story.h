/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stories: what runs do with a checkpoint store on a disk in memory, and the promises that they got
 * meanwhile. A story is run once; the crash states of its calls are judged by story_judge. */
#ifndef DLX_TEST_CRASH_STORY_H
#define DLX_TEST_CRASH_STORY_H

#include "ckpt/ckpt.h"
#include "crash_states.h"
#include "story_state.h"

/* A folder that no real disk can have: a call that goes past the table of calls fails. */
#define STORY_ROOT "/dev/null/dlx"
#define STORY_STORE STORY_ROOT "/store"
#define STORY_RUNS 2

enum promise_kind {
	PROMISE_SAVED,                 /* a save was reported durable */
	PROMISE_TAG,                   /* a tag leads to a version */
	PROMISE_TAG_OPEN,              /* a tag is being changed: anything goes */
	PROMISE_PIN,
};
struct promise {
	int call;                      /* this many calls had been made */
	enum promise_kind kind;
	int run, save;
	char id[64], name[32];
};

struct story {
	struct sim *s;
	unsigned lies;                 /* of the disk: set before the story is run */
	bool shared;                   /* one store of all runs */
	struct ckpt_config config;
	int size;                      /* of the states' large tensor: STORY_SIZE or set later */
	int jobs;                      /* of two ranks, so far */
	int from;                      /* calls of the set-up, whose crash states another story has */
	struct promise promise[64];
	int npromises;
	/* a run's process */
	struct ckpt_store *store[STORY_RUNS];
	struct disk *disk[STORY_RUNS];
	char last[STORY_RUNS][64];     /* the id of its last save */
	bool failed;                   /* a call of the store failed; the errors are kept */
	long *again;                   /* counts crash states of the recovery */
};

/* --- telling; each sets t->failed on an error --- */

void story_begin(struct story *t, bool shared, int keep);
void story_end(struct story *t);
const char *story_dir(int run);                      /* RUN/checkpoints */
const char *story_root(const struct story *t, int run);   /* the store's folder */
void story_open(struct story *t, int run);
void story_save(struct story *t, int run, int save);
void story_close(struct story *t, int run);
/* Two ranks of run 0, stores and disks 0 and 1, which save together. */
void story_open_ranks(struct story *t);
void story_save_ranks(struct story *t, int save);
void story_tag(struct story *t, int run, const char *name, int save);
void story_pin(struct story *t, int run);
void story_collect(struct story *t, int run);
void story_promise(struct story *t, enum promise_kind kind, int run, int save, const char *name);
/* From here on crash states are judged. */
void story_from_here(struct story *t);

/* --- judging --- */

/* Whether the disk has what the story's first `calls` calls promised, and whether all works on. The
 * disk is changed. depth: of crashes of the recovery that are tried too. */
bool story_judge(const struct story *t, struct sim *after, int calls, int depth, struct buf *why);
int story_promised(const struct story *t, int calls);

#endif
