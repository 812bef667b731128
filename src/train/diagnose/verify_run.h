/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One training step and one evaluation of a synthetic batch, either of whole samples or of samples
 * that are cut over ranks (parallel.spatial). The ranks are threads of this process. */
#ifndef DLX_TRAIN_VERIFY_RUN_H
#define DLX_TRAIN_VERIFY_RUN_H

#include "data/transform.h"
#include "plan/session.h"

/* What is run. All members but the first three are copies, changed for the purpose. */
struct verify_run {
	const struct session *s;         /* for the request of plans and the shape of the batch */
	const char *device;              /* by name, as for device_open */
	uint64_t draw;                   /* number of the synthetic batch: another one has other
	                                  * values */
	struct run_config config;        /* without accumulation, for the batch size of the run */
	struct plan_data data;           /* samples of the size that is verified */
	struct transform_rest rest;      /* of samples in their stored form */
	struct cut_grid grid;
	int parts;                       /* number of subdomains */
	struct arena *arena;             /* of the batch */
	struct batch batch;              /* of whole samples; set by verify_whole */
	struct shape shape[2];           /* of the batch's input and target */
};

enum verify_kind { VERIFY_LOSS, VERIFY_GRADIENT, VERIFY_STATISTIC, VERIFY_METRIC, VERIFY_KINDS };

/* The name of the metric that is the loss of the evaluation: a mean, of which others are counts. */
#define VERIFY_MEAN "loss"

/* Results, in float64. */
struct verify_value {
	enum verify_kind kind;
	const char *name;                /* of the parameter, state or metric */
	struct loc loc;                  /* of its layer in the config */
	int64_t n;
	double *v;
};
struct verify_values {
	struct arena *arena;             /* NULL before the run; freed by verify_values_release */
	int n;
	struct verify_value *value;
	double weight;                   /* sum of the weights that the loss of the evaluation was
	                                  * divided by */
};

/* Prepares runs on samples of the size `extent` (one number for each spatial axis). Borrows s
 * and the device's name. */
void verify_begin(struct verify_run *r, const struct session *s, const char *device,
                  const int64_t *extent);
void verify_end(struct verify_run *r);
/* Runs whole samples on one rank. Errors of planning carry their place in the config. */
int verify_whole(struct verify_run *r, struct verify_values *out);
/* Runs samples that are cut; out[i] are the results of rank i, one for each subdomain. Gradients
 * and the loss are sums over all ranks, on each of them; metrics are counts of one rank. Call it
 * after verify_whole. */
int verify_cut(struct verify_run *r, struct verify_values *out);
void verify_values_release(struct verify_values *v);

/* The parts of these runs, for runs of single nodes (verify_nodes.c). */
struct plan_request verify_request(const struct verify_run *r, const struct device *dev,
                                   enum plan_mode mode, int subdomain);   /* -1: whole samples */
/* Changes the initial values of s, so that no parameter is 0 or 1 everywhere. */
int verify_spread(const struct verify_run *r, struct store *s);
/* Writes the batch, or the part of it that p computes, into p's inputs. */
int verify_feed(const struct verify_run *r, struct plan *p, struct arena *a);
/* Planning is not thread-safe: the list of code to be generated is the process's. */
void verify_lock(void);
void verify_unlock(void);

#endif
