/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole config: the root table of keys, made of the tables of the parts, and the struct into
 * which a file is read. */
#ifndef DLX_PLAN_CONFIG_H
#define DLX_PLAN_CONFIG_H

#include "ckpt/ckpt.h"
#include "data/loader.h"
#include "plan/objective.h"
#include "yaml/schema.h"

struct run_section {
	const char *name, *dir;          /* dir NULL: runs/NAME */
	int64_t seed;
};

struct target_section {
	const char *metric;              /* NULL: train to the end */
	double at_least, at_most;        /* one of them; the other is NaN */
};

struct validate_section {
	int64_t epochs, steps;           /* a validation after every this many epochs, and every this
	                                  * many steps; 0: none */
	int64_t realizations;            /* realizations of noise with which random fields are
	                                  * validated */
};

struct memory_section {
	int64_t limit;                   /* bytes; INT64_MIN: the available memory */
	int64_t aside;                   /* bytes of a GPU to leave free; INT64_MIN: see
	                                  * device_memory_info */
};

/* z-scores (op/update/step_guard.h) above which a step is left out; NaN: none. */
struct outliers_section {
	double loss, gradient;
	int64_t window;                  /* number of accepted steps over which the statistics of
	                                  * outliers are taken */
};

enum { NONFINITE_STOP, NONFINITE_SKIP };

struct train_section {
	int64_t epochs;                  /* 0 with steps given: as many as needed */
	int64_t steps;                   /* 0: by epochs */
	int64_t batch_size;              /* samples of one rank (config_share_batch) */
	int64_t global_batch_size;       /* samples of all ranks; 0: not given */
	int64_t accumulate;
	double clip_norm;                /* NaN: off */
	int on_nonfinite;                /* NONFINITE_STOP or _SKIP */
	struct outliers_section skip_outliers;
	struct validate_section validate;
	struct target_section target;
	int64_t patience;                /* validations without an improvement after which training
	                                  * ends; INT64_MIN: no limit */
	struct memory_section memory;
};

struct precision_section {
	struct variant_value loss_scale;
	int compute;                     /* see config_compute, config_computes_auto */
	bool allow_emulation;
	bool winograd;
	bool tf32, deterministic;        /* only for a GPU: allow TF32 products; use deterministic
	                                  * kernels only */
	int wire;                        /* index in all_reduce_wires */
};

struct parallel_section {
	const char *grouping;            /* see grouping_parse */
	int64_t gradient_lag;
	double timeout;                  /* seconds that a wait for other ranks may take */
	bool average_statistics;
	struct ynode *sync_batch_norm;   /* see sync_group_parse */
	bool reproducible;               /* see plan/sums/micro_tree.h */
	struct ynode *spatial;           /* see spatial_parse */
};

/* The number of micro-batches of a step, if these are summed as a tree (parallel.reproducible); set
 * by config_share_batch. */
struct micro_counts {
	int64_t all, each;               /* of all ranks; of one rank; 0: not summed as a tree */
};

/* The choices that the config leaves to the device; set by compute_settle (train/run/compute.h)
 * after the device was opened. */
struct compute_choice {
	enum dtype type;                 /* the type chosen for precision.compute: auto */
	double ratio;                    /* how much faster products are in bf16, as a class
	                                  * (backend/bf16_ratio.h), the same on all ranks; 0: not
	                                  * known */
	const char *why;                 /* reason for this type, as text for people; NULL: the config
	                                  * gives the type */
};

struct report_section {
	int progress;                    /* enum progress_mode */
	int64_t every;                   /* steps between lines of metrics.jsonl */
	bool tensorboard;
	double one_rank;                 /* samples/s; 0: not given */
};

struct run_config {
	struct run_section run;
	int device;                      /* index in device_names */
	struct variant_value model;
	struct data_config data;
	struct variant_value loss;
	struct strings metrics;
	struct variant_value optimizer, schedule;
	const struct ynode *points, *variables, *objective;     /* plan/physics/physics.h */
	struct precision_section precision;
	struct parallel_section parallel;
	struct train_section train;
	struct ckpt_config checkpoint;
	struct report_section report;
	/* not keys: */
	struct objectives objectives;
	struct physics *physics;         /* equations to train on; NULL: a network is trained on data */
	struct micro_counts micros;
	struct compute_choice chosen;
	const char *file;
	struct arena *arena;
	struct ynode *tree;              /* the config file's tree, with --set applied */
};

extern const struct field config_fields[];
extern const char *const device_names[];

/* Reads the file, applies the --set assignments, and checks all that can be checked without data
 * and device. The error record has an entry for every mistake. The config's memory is one arena. */
int config_load(struct run_config **out, const char *path, int nset, const char *const *set);
/* A value of a key that another file than the config says. */
struct config_setting {
	const char *key;                 /* a path, as of --set */
	struct loc loc;
	struct ynode *value;             /* borrowed for as long as the config lives */
};
/* The same with n settings more, after those of --set. */
int config_load_with(struct run_config **out, const char *path, int nset, const char *const *set,
                     const struct config_setting *more, int n);
/* Makes the keys loss, optimizer, schedule and metrics the one objective of a run. */
void config_set_objective(struct run_config *c);
/* Whether train.skip_outliers has a limit. */
bool config_skips_outliers(const struct run_config *c);
/* Checks the length of training, which only training needs. */
int config_check_length(const struct run_config *c);
/* Sets train.batch_size to a rank's share of train.global_batch_size, if that is given. Call it
 * once, before train.batch_size is used. */
int config_share_batch(struct run_config *c, int ranks);
/* The samples that one rank reads at once, and the number of such batches in a step. Call
 * config_share_batch before. */
int64_t config_rank_batch(const struct run_config *c);
int64_t config_step_batches(const struct run_config *c);
/* The place in the file of the value of section.key, or the beginning of the file if it has no such
 * key. */
const struct loc *config_place(const struct run_config *c, const char *section, const char *key);
enum dtype config_compute(const struct run_config *c);   /* F32, BF16, F16, F64; 'auto': chosen */
bool config_computes_auto(const struct run_config *c);
int config_compute_index(enum dtype t);            /* the value of precision.compute for it */
void config_free(struct run_config *c);            /* NULL is fine */
/* The effective config: every key with the value it has. */
struct ynode *config_effective(const struct run_config *c, struct arena *a);

#endif
