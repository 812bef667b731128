/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One compiled graph: from the config to an executor. Training, evaluation and prediction are plans
 * of their own over one store; a short last batch has its own plan too, so that no node ever asks
 * how many samples are real. */
#ifndef DLX_PLAN_PLAN_H
#define DLX_PLAN_PLAN_H

#include "backend/readback.h"
#include "op/update/loss_scale.h"
#include "op/update/step_guard.h"
#include "optim/optim.h"
#include "plan/config.h"
#include "plan/extent/field.h"
#include "plan/extent/field.h"
#include "plan/sums/micro_sums.h"
#include "plan/batch/port.h"
#include "plan/memory/memory.h"
#include "plan/sums/micro_sums.h"
#include "plan/sums/step_mean.h"
#include "report/jsonl.h"

enum plan_mode { PLAN_TRAIN, PLAN_EVALUATE, PLAN_PREDICT, PLAN_MODES };

/* The description of the data when planning. */
struct transform_rest;
struct target_scaling;
struct plan_data {
	struct shape input, target;      /* of one sample after the transforms, in training */
	struct plan_field field;         /* what evaluation and prediction see instead */
	bool further;                    /* these are of a further size of training samples: what is
	                                  * told of a training plan was told of the first */
	bool pinned;                     /* batches come in memory from which the device copies them as
	                                  * they are */
	bool target_unknown;             /* planning without data: the target is as the output asks */
	int64_t classes;                 /* output channels */
	int64_t ignore;                  /* label that means none; INT64_MIN: no such */
	const int64_t *class_counts;     /* of the training set; NULL if no class weights need them */
	const struct target_scaling *scaling;   /* of targets for the loss (scaled_target.h); NULL:
	                                         * they are as they are stored */
	/* By mode: how batches come; NULL: float32, nothing left to do. Inputs that are rounded must be
	 * those of a plan that does so (plan_rounds_input). */
	const struct transform_rest *rest[PLAN_MODES];
};

/* Everything that a plan depends on. Types, and what kernels are chosen by, follow from config and
 * wisdom (plan_env_of), so that a request with a changed copy of the config is all that a remedy
 * needs. */
struct plan_request {
	const struct run_config *config;
	const struct device *dev;
	struct wisdom *wisdom;           /* engines, to which those are added that it measures; NULL:
	                                  * the libraries' first choice */
	bool trial;                      /* not to be run: no engine is measured for it */
	const struct store *store;       /* layouts that are fixed already */
	const struct plan_data *data;
	enum plan_mode mode;
	const struct objective *objective;
	int scored;                      /* PLAN_PREDICT: 1 + the number of the set of points at
	                                  * `batch` candidates of which its residual is wanted, the
	                                  * result "score"; 0: none */
	bool gradients;                  /* PLAN_PREDICT: of the objective's balanced terms
	                                  * (physics_emit_gradients) */
	int64_t batch;
	int64_t limit, fixed;            /* bytes of a step, INT64_MIN: no limit; and what of it is not
	                                  * for the arena, as in struct memory_limit */
	bool sweep;                      /* fill in plan.sweep */
	bool any_extent;                 /* predictions of tiles have the bits of the whole's */
	bool keep_results;               /* PLAN_TRAIN: output and gradients
	                                  * can be read after the step */
	struct ranks_plan ranks;         /* PLAN_TRAIN: the ranks for which all-reduces
	                                  * are planned; ranks 0 or 1: none */
	const char *dump;                /* --dump=PASS */
	bool dump_dot;
};

/* The results of a plan, by name: "output" (but for PLAN_TRAIN in the target's own units), "loss",
 * "weight" (what that was taken over) and the metrics' own; and of each step of training: */
#define PLAN_STEP_MEAN "step/mean"        /* the loss, or the sums of op/loss/mean.h */
#define PLAN_STEP_SCALING "step/scaling"  /* the state of loss scaling */
#define PLAN_STEP_GUARD "step/guard"      /* the state of plan/guard.h */
#define PLAN_STEP_TERM "step/term/"       /* and a term's name: its value on this rank */
#define PLAN_STEP_WEIGHT "step/weight/"   /* and a balanced term's name: its weight */
#define PLAN_STEP_VARIABLE "step/variable/"   /* and a variable's name: its value before the step */

struct plan {
	enum plan_mode mode;
	int64_t batch;
	struct graph *g;
	struct exec *exec;
	struct memory_fit memory;        /* what the limit made of it */
	struct memory_sweep sweep;
	const struct batch *prefetched;  /* being prefetched to the device; NULL: none */
	struct ports in, out;            /* what the host writes, and the results */
	struct mean mean;                /* terms NONE: a step is one batch */
	struct micro_sums micro_sums;        /* levels 0: sums are not made as a tree */
	struct buckets *buckets;         /* of gradients; NULL: nothing is summed over ranks */
	struct readback *readback;       /* PLAN_TRAIN: copies a step's results to the host */
	double *guarded;                 /* room for the guard's state on the host, or NULL */
	struct metrics *metrics;
	tid metric[METRICS_OUTPUTS];
	int nmetric;
	const char *activation;          /* the network's last layer, if the loss makes it itself; at */
	struct loc activated;
	const char *derivatives;         /* of an objective, by coordinates: how they are taken, in
	                                  * words; NULL: there are none */
	int nparam;
	tid *param, *grad;               /* grad: of one batch; with keep_results that of the step,
	                                  * before clipping */
};

/* What a config has kernels chosen by; wisdom as in a request. */
struct plan_env plan_env_of(const struct run_config *c, struct wisdom *wisdom);
int plan_new(struct plan **out, const struct plan_request *r);
/* The bytes of an arena that are enough for some plan of the request that p is made for, if as much
 * as possible is computed again; no engine is measured. Afterwards p cannot be run. */
int plan_least(const struct plan *p, const struct plan_request *r, int64_t *arena);
/* A plan of which only the graph is made, as it is built: for printing. */
int plan_outline(struct plan **out, const struct plan_request *r);
/* Builds the graph only, in a fraction of plan_new's time, to find the mistakes in a config. */
int plan_check(const struct plan_request *r);
/* Whether all that such a plan reads of its batch's input is rounded to the 16-bit type that it
 * computes in, so that the batch may come in it (transform_rest). False after a mistake too, which
 * is recorded. Takes about as long as plan_check. */
bool plan_rounds_input(const struct plan_request *r);
void plan_free(struct plan *p);      /* NULL is fine */

/* The inputs of a step besides its batch. */
struct plan_step {
	int64_t step, own;               /* updates made so far: of the run, of the plan's objective */
	int64_t micro, micros;           /* which micro-batch of how many */
	int64_t first;                   /* place of the batch's first sample among the step's, of all
	                                  * ranks and micro-batches */
	int64_t all_micros;                  /* micro-batches of all ranks in the step;
	                                  * parallel.reproducible */
	double rate;                     /* learning rate */
	bool absent;                     /* the batch does not count: this rank only keeps step */
	bool stop;                       /* this rank votes to end the run */
	bool save, save_local, report;   /* rank 0 votes for a checkpoint, one on hosts' disks, or
	                                  * a report of the ranks' rates */
};
/* Numbers in the parameters that it trains. */
int64_t plan_parameters(const struct plan *p);
/* The input, or the result, so named; NONE. */
tid plan_in(const struct plan *p, const char *name);
tid plan_out(const struct plan *p, const char *name);
/* Writes a batch (b->n == p->batch) and the step's numbers into the inputs that p has. step may be
 * NULL outside training. */
int plan_feed(struct plan *p, const struct run_config *c, const struct batch *b,
              const struct plan_step *step);
/* While a training step runs: sends the batch that the next plan_feed will be given (of p, which is
 * the plan for its size) to a device with a memory of its own. Until device_driver.prefetch_ready
 * has returned it is read. */
int plan_prefetch(struct plan *p, const struct batch *b);

/* The results of all batches of a step, on all ranks. */
struct plan_result {
	double loss;
	double weight;                   /* what it was taken over; 0: nothing counted */
	double scaling[LOSS_SCALE_STATE]; /* of the loss; all zero if there is none */
	double guard[GUARD_TOLD];        /* op/update/step_guard.h; all zero without */
	bool stop, save, save_local, report;   /* the ranks' votes */
	int nvalue;                      /* terms, weights and variables of an objective */
	struct jsonl_value value[PORTS_MOST];
};
/* After a step's last micro-batch has been given to the device: asks for its result, which
 * plan_result then waits for. One more step may be given and asked for before. */
int plan_ask(const struct plan *p);
int plan_result(const struct plan *p, struct plan_result *r);

/* The table of passes, so that --dump=PASS can be checked. */
const struct pass *plan_passes(int *n);

#endif
