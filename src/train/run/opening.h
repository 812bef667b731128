/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run's session is opened in one place. What is opened depends on what is to be done: "--check"
 * and "--plan" need no data beyond its header. */
#ifndef DLX_TRAIN_OPENING_H
#define DLX_TRAIN_OPENING_H

#include "base/option.h"
#include "plan/program.h"

struct session_options {
	struct comm *comm;         /* the ranks of the run; NULL: alone */
	unsigned need;
	const char *device;        /* overrides the config's, or NULL */
	const char *gpu;           /* with nothing to run: plan for this GPU, which
	                            * need not be there; or NULL */
	const struct texts *data;  /* files to take in place of data.validation, as predict_input does;
	                            * or NULL */
	const char *layout;        /* of the files in data (--input-layout), or NULL */
	bool quiet;
	struct texts *records;     /* the records that data became, filled if empty; needs data */
	/* Of predictions, where records have samples of several sizes after the transforms: samples of
	 * size `size` alone are read (dataset_size_of), and *sizes is set to how many sizes there are.
	 * Elsewhere all are read, and *sizes is 1. sizes NULL: such records are refused. */
	int size, *sizes;
	struct dataset **set;      /* of predictions: opened by the first session where it is NULL, and
	                            * used by all; the caller's */
	const char *weights;       /* the checkpoint a command that trains nothing works with, as in
	                            * ckpt_load; or NULL */
	const char *resume;        /* the checkpoint a training goes on from, likewise; or NULL */
	const char *tile;          /* tiles of predictions: auto or a size
	                            * (plan/extent/tile_size.h); NULL: whole samples */
	const char *dump;
	bool dump_dot;
	const char *wisdom;        /* a file of engines, or NULL; stays until session_close */
	int ranks, hosts;          /* to plan for; hosts 0: eight ranks on each. Under a launcher its
	                            * ranks count instead */
};

/* Takes config (freed by session_close). Collective; fails on all ranks if it does on one, and they
 * mean to run the same when it has not. */
int session_open(struct session **out, struct run_config *config, const struct session_options *o);
void session_close(struct session *s);               /* NULL is fine */

/* What session_open is made of, for train/run/deferred_plans.h: makes the plan of a program;
 * obtains memory for all plans there are, which are bound to it. */
int session_make_plan(struct session *s, struct program *p);
int session_bind(struct session *s);
/* Binds one to the memory that is there. */
int session_bind_program(struct session *s, const struct program *p);

/* The plan by which an objective is trained on b. */
struct plan *session_plan_of(const struct session *s, int objective, const struct batch *b);
/* Whether there is something to validate on. */
bool session_validates(const struct session *s);
/* true if two steps may be in flight. */
bool session_overlaps(const struct session *s);

#endif
