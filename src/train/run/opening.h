/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens and closes a run's session. The parts that are opened depend on the command: "--check" and
 * "--plan", for example, only need the headers of the data. */
#ifndef DLX_TRAIN_OPENING_H
#define DLX_TRAIN_OPENING_H

#include "base/option.h"
#include "plan/program.h"
#include "plan/time/op_times.h"

struct session_options {
	struct comm *comm;         /* the ranks of the run; NULL: one rank */
	unsigned need;
	const char *device;        /* name of a device, which overrides the config's; or NULL */
	const char *gpu;           /* name of a GPU to plan for, which need not be present, if no plan
	                            * is run; or NULL */
	const struct texts *data;  /* files that replace data.validation, as for predict_input; or
	                            * NULL */
	const char *layout;        /* layout of the files in data (--input-layout), or NULL */
	bool quiet;
	struct texts *records;     /* the records made from data: filled if empty, else used; requires
	                            * data */
	/* For predictions on records whose samples have several sizes after the transforms: only
	 * samples of size `size` are read (dataset_size_of), and *sizes is set to the number of sizes.
	 * Otherwise all samples are read, and *sizes is 1. If sizes is NULL, records with several sizes
	 * are refused. */
	int size, *sizes;
	struct dataset **set;      /* for predictions, the set that all sessions use: the first session
	                            * opens it if *set is NULL; the caller frees it */
	const char *weights;       /* checkpoint whose weights are used by a command that does not
	                            * train, as in ckpt_load; or NULL */
	const char *resume;        /* checkpoint from which a training resumes, likewise; or NULL */
	const char *tile;          /* tiles of predictions: auto or a size
	                            * (plan/extent/tile_size.h); NULL: whole samples */
	const char *dump;
	bool dump_dot;
	const char *wisdom;        /* path of a file of engines, or NULL; must stay valid until
	                            * session_close */
	const char *cluster;       /* path of the description of the cluster to plan for
	                            * (plan/time/cluster.h), which has the ranks of a host; or NULL */
	const double *noise;       /* replaces the noise of the cluster; NULL: it does not */
	const struct op_times *times;      /* the times of nodes, for predictions; or NULL */
	struct staging *stage;     /* staging that several runs share (staging_lend), or NULL: the run
	                            * has its own */
	int host_ranks, sharing;   /* if other runs of the job have ranks on this host: the number of
	                            * all ranks here, and of those that use the same processors as this
	                            * rank; 0: this run's are all */
	int ranks, hosts;          /* ranks and hosts to plan for; hosts 0: eight ranks per host.
	                            * Ignored under a launcher, whose ranks are used */
};

/* Opens a session, which takes ownership of config (session_close frees it). If it fails on one
 * rank, it fails on all. Success means that all ranks have the same config, data and plans.
 * Collective. */
int session_open(struct session **out, struct run_config *config, const struct session_options *o);
void session_close(struct session *s);               /* NULL is fine */

/* Parts of session_open, for train/run/deferred_plans.h: session_make_plan makes the plan of a
 * program; session_bind allocates memory for all existing plans and binds them to it. */
int session_make_plan(struct session *s, struct program *p);
int session_bind(struct session *s);
/* Binds the plan of one program to the memory that is already allocated. */
int session_bind_program(struct session *s, const struct program *p);

/* The plan that trains an objective on a batch of b's size. */
struct plan *session_plan_of(const struct session *s, int objective, const struct batch *b);
/* Whether the session has data, or known values, for validations. */
bool session_validates(const struct session *s);
/* Whether two steps may be in flight at once. */
bool session_overlaps(const struct session *s);

#endif
