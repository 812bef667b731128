/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One compiled graph: from the config to an executor. Training, evaluation and prediction have
 * separate plans over one store. A short last batch has its own plan too, so every node computes on
 * a fixed number of samples. */
#ifndef DLX_PLAN_PLAN_H
#define DLX_PLAN_PLAN_H

#include "backend/readback.h"
#include "op/update/loss_scale.h"
#include "op/update/step_guard.h"
#include "optim/optim.h"
#include "pass/cut.h"
#include "plan/config.h"
#include "plan/extent/field.h"
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
	struct plan_field field;         /* the samples that evaluation and prediction read, if these
	                                  * have another size */
	bool further;                    /* input and target describe training samples of a second or
	                                  * later size, for which notes about the plan are not printed
	                                  * again */
	bool pinned;                     /* batches are in pinned host memory, from which the device
	                                  * copies directly */
	bool target_unknown;             /* planning without data: the target's shape is derived from
	                                  * the output's */
	int64_t classes;                 /* output channels */
	int64_t ignore;                  /* label of points without a class; INT64_MIN: there is no such
	                                  * label */
	const int64_t *class_counts;     /* points or samples of each class in the training set; NULL if
	                                  * no class weights need them */
	const struct target_scaling *scaling;   /* scaling of targets for the loss (scaled_target.h);
	                                         * NULL: targets are used as stored */
	/* The transforms that are left to the plan, by mode; NULL: batches are float32 and need none.
	 * The loader may round inputs to 16 bits only if the plan would (plan_rounds_input). */
	const struct transform_rest *rest[PLAN_MODES];
};

/* Everything that a plan depends on. Element types and the choice of kernels follow from the config
 * and the wisdom (plan_env_of). To try a remedy, dlx repeats a request with a changed copy of the
 * config. */
struct plan_request {
	const struct run_config *config;
	const struct device *dev;
	struct wisdom *wisdom;           /* the GPU libraries' engines; planning adds those that it
	                                  * measures; NULL: each library's first choice */
	bool trial;                      /* the plan will not be run, so no engine is measured for it */
	const struct store *store;       /* the store, whose layouts are already fixed */
	const struct plan_data *data;
	enum plan_mode mode;
	const struct objective *objective;
	int scored;                      /* PLAN_PREDICT: 1 + the index of a set of points, whose
	                                  * residual the plan computes at `batch` candidates as the
	                                  * result "score"; 0: none */
	bool gradients;                  /* PLAN_PREDICT: compute the gradients of the objective's
	                                  * balanced terms (physics_emit_gradients) */
	int64_t batch;
	int64_t limit, fixed;            /* memory limit of a step in bytes, INT64_MIN: none; bytes of
	                                  * it that are not for the arena, as in struct memory_limit */
	bool sweep;                      /* fill in plan.sweep */
	bool any_extent;                 /* predictions by tiles must equal those of the whole field to
	                                  * the last bit */
	bool keep_results;               /* PLAN_TRAIN: output and gradients
	                                  * can be read after the step */
	struct plan_cut {
		struct cut_grid grid;        /* axes 0: each rank has whole samples */
		int subdomain;
	} cut;                           /* the part of each sample that the plan computes */
	struct ranks_plan ranks;         /* PLAN_TRAIN: the ranks for which all-reduces
	                                  * are planned; ranks 0 or 1: none */
	const char *dump;                /* --dump=PASS */
	bool dump_dot;
};

/* The names of a plan's results: "output" (in the target's units, but in scaled units for
 * PLAN_TRAIN), "loss", "weight" (the sum of weights that the loss was divided by) and those of the
 * metrics. Each step of training has also: */
#define PLAN_STEP_MEAN "step/mean"        /* the loss, or the sums of op/loss/mean.h */
#define PLAN_STEP_SCALING "step/scaling"  /* the state of loss scaling */
#define PLAN_STEP_GUARD "step/guard"      /* the state of plan/guard.h */
#define PLAN_STEP_TERM "step/term/"       /* followed by a term's name: its value on this rank */
#define PLAN_STEP_WEIGHT "step/weight/"   /* followed by a balanced term's name: its weight */
#define PLAN_STEP_VARIABLE "step/variable/"   /* followed by a variable's name: its value before the
                                               * step */

struct plan {
	enum plan_mode mode;
	int64_t batch;
	struct graph *g;
	struct exec *exec;
	struct memory_fit memory;        /* the memory of a step, and what is recomputed to respect the
	                                  * limit */
	struct memory_sweep sweep;
	const struct batch *prefetched;  /* the batch that is being prefetched to the device; NULL:
	                                  * none */
	struct ports in, out;            /* the inputs, which the host writes, and the results */
	struct mean mean;                /* terms NONE: a step is one batch */
	struct micro_sums micro_sums;        /* levels 0: sums are not made as a tree */
	struct buckets *buckets;         /* buckets of gradients; NULL: nothing is summed over ranks */
	struct readback *readback;       /* PLAN_TRAIN: copies a step's results to the host */
	double *guarded;                 /* room for the guard's state on the host, or NULL */
	struct metrics *metrics;
	tid metric[METRICS_OUTPUTS];
	bool metric_once[METRICS_OUTPUTS];   /* each subdomain has counted the whole sample */
	int nmetric;
	const struct cut *cut;           /* the partition of samples; NULL: none */
	int subdomain;                   /* the part of each sample that the plan computes */
	const char *activation;          /* kind of the network's last layer, if the loss computes it;
	                                  * its place in the config */
	struct loc activated;
	const char *derivatives;         /* for people: how derivatives with respect to coordinates are
	                                  * computed; NULL: the objective has none */
	int nparam;
	tid *param, *grad;               /* parameters and their gradients: grad is that of one batch,
	                                  * or with keep_results that of the whole step before
	                                  * clipping */
};

/* The settings of a config by which kernels are chosen; wisdom as in a request. */
struct plan_env plan_env_of(const struct run_config *c, struct wisdom *wisdom);
int plan_new(struct plan **out, const struct plan_request *r);
/* *arena: a size of the arena, in bytes, with which some plan of request r fits if as much as
 * possible is recomputed. p is a plan of r; it cannot be run afterwards. No engine is measured. */
int plan_least(const struct plan *p, const struct plan_request *r, int64_t *arena);
/* Makes a plan that has only its graph, before any pass optimises it: for printing. */
int plan_outline(struct plan **out, const struct plan_request *r);
/* Makes a plan of the forward pass of training that can be run, but is not optimised: every tensor
 * of the graph, as its builder made it, has its number there and can be read after a run. */
int plan_plain(struct plan **out, const struct plan_request *r);
/* Builds the graph only, in a fraction of plan_new's time, to find the mistakes in a config. */
int plan_check(const struct plan_request *r);
/* Whether a plan of r rounds its whole input to the 16-bit type that it computes in, so that the
 * loader may already provide that type (transform_rest). Also false after a mistake in the config,
 * which is recorded. Takes about as long as plan_check. */
bool plan_rounds_input(const struct plan_request *r);
void plan_free(struct plan *p);      /* NULL is fine */

/* The inputs of a step besides its batch. */
struct plan_step {
	int64_t step, own;               /* updates made so far: in the run, and for the plan's
	                                  * objective */
	int64_t micro, micros;           /* number of the micro-batch, from 0; micro-batches of the
	                                  * step */
	int64_t first;                   /* index of the batch's first sample among the step's samples
	                                  * of all ranks and micro-batches */
	int64_t all_micros;                  /* micro-batches of all ranks in the step;
	                                  * parallel.reproducible */
	double rate;                     /* learning rate */
	bool absent;                     /* the batch does not count: this rank only takes part in the
	                                  * collectives */
	bool stop;                       /* this rank votes to end the run */
	bool save, save_local, report;   /* rank 0 votes for a checkpoint, one on hosts' disks, or
	                                  * a report of the ranks' rates */
};
/* The number of values in the parameters that the plan trains. */
int64_t plan_parameters(const struct plan *p);
/* The input, or the result, of this name; NONE if there is none. */
tid plan_in(const struct plan *p, const char *name);
tid plan_out(const struct plan *p, const char *name);
/* Writes a batch (b->n == p->batch) and the step's numbers into the inputs that p has. step may be
 * NULL outside training. */
int plan_feed(struct plan *p, const struct run_config *c, const struct batch *b,
              const struct plan_step *step);
/* While a training step runs, copies b, the batch of the next plan_feed of p, to a device that has
 * its own memory. b must not change until device_driver.prefetch_ready has returned. */
int plan_prefetch(struct plan *p, const struct batch *b);

/* The results of all batches of a step, on all ranks. */
struct plan_result {
	double loss;
	double weight;                   /* sum of weights that the loss was divided by; 0: no sample
	                                  * counted */
	double scaling[LOSS_SCALE_STATE]; /* of the loss; all zero if there is none */
	double guard[GUARD_TOLD];        /* op/update/step_guard.h; all zero without */
	bool stop, save, save_local, report;   /* the ranks' votes */
	int nvalue;                      /* terms, weights and variables of an objective */
	struct jsonl_value value[PORTS_MOST];
};
/* Starts the copy of a step's result to the host, after the step's last micro-batch was submitted
 * to the device; plan_result waits for the copy. The next step may be submitted, and its copy
 * started, before plan_result is called. */
int plan_ask(const struct plan *p);
int plan_result(const struct plan *p, struct plan_result *r);

/* The table of passes, so that --dump=PASS can be checked. */
const struct pass *plan_passes(int *n);

#endif
