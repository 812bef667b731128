/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file metrics.jsonl: the events of a run, one JSON object per line, for programs that read it
 * while the run continues. Each line is passed to the system by one write, so that readers see
 * incomplete lines only briefly, and a killed process loses none. Numbers that are not finite are
 * written as null. */
#ifndef DLX_REPORT_JSONL_H
#define DLX_REPORT_JSONL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct jsonl;

#define JSONL_FRESH (-1)   /* resume_step of a run that starts at its beginning: an empty file */

/* Opens path for appending, and creates it if missing. A resumed run removes the lines that it will
 * write again, those of steps after resume_step, and an incomplete last line; lines without a step
 * are kept. If the run repeats the validation of resume_step itself, the new line replaces the old
 * one. The file is replaced completely or not at all. E_CANTCREATE, E_IO. */
int jsonl_open(struct jsonl **out, const char *path, int64_t resume_step);
void jsonl_close(struct jsonl *j);   /* NULL is fine */

/* Each of these appends one line, or returns E_IO; after the first they allocate nothing unless a
 * line is longer than any before. */

/* The start of a run: one line each time a process starts it, from the beginning or from a
 * checkpoint. */
struct jsonl_start {
	int64_t step;          /* step from which the run continues */
	double time;           /* seconds since 1970 */
	const char *name, *version;
	int ranks, hosts, threads;           /* threads of one rank */
	const char *host, *device, *device_description, *precision;
	int64_t batch;         /* samples per update, on all ranks */
	int64_t samples;       /* samples per epoch, on all ranks */
	int64_t parameters;
	const char *model, *input;   /* family of the network; shape of an input sample */
	const char *plan;      /* fingerprint of the plan */
	const char *metric;    /* name of the metric that decides which validation is best */
	double best;           /* its best value so far, including a fork's origin; NaN: none yet */
	int64_t best_step;     /* -1: not known */
	const char *memory;    /* planned and used memory, as a JSON object; or NULL */
	double sample_flops;   /* floating-point operations of training on one sample */
	double forward_flops;  /* floating-point operations of the forward convolutions and dense layers
	                        * on one sample; independent of batch and device */
	double peak_flops;     /* of one rank's device, flop/s; 0: not known */
	const char *scheduler, *job, *element;   /* NULL: none */
	int restarts;          /* number of restarts of the job by the scheduler */
};
int jsonl_start(struct jsonl *j, const struct jsonl_start *s);

struct jsonl_step {
	int64_t step, epoch;
	double loss, learning_rate, samples_per_second, seconds;
	int64_t samples;       /* number of samples so far, in all epochs */
	double loss_scale;     /* 0: none, and it is not written */
	bool guarded;          /* steps may be skipped also without loss scaling */
	int64_t skipped;       /* number of steps skipped so far */
	const int64_t *size;   /* spatial extents of the samples, if training has several sizes */
	int axes;              /* number of these extents; 0: they are not written */
	const struct jsonl_value {
		const char *name;
		double v;
	} *value;              /* terms and variables of equations: "term/NAME", "variable/NAME" */
	int nvalues;
};
int jsonl_step(struct jsonl *j, const struct jsonl_step *s);

struct jsonl_metric {
	const char *name;
	int n;                 /* count of numbers in value */
	bool list;             /* written as a list; else n is 1 */
	int columns;           /* if not 0: written as a list of rows, each a list of this many
	                        * numbers */
	const double *value;
};
/* Appends "name": value. */
void jsonl_put_metric(struct buf *b, const struct jsonl_metric *m);
struct jsonl_validation {
	int64_t step, epoch, samples;
	double seconds, loss;
	const struct jsonl_metric *metric;
	int nmetrics;
};
int jsonl_validation(struct jsonl *j, const struct jsonl_validation *v);

/* How fast the run is so far. */
struct jsonl_rates {
	int64_t step, samples;
	double seconds;
	double sustained, best;      /* samples/s; best 0: not known */
	double flops;                /* floating-point operations per sample; 0: not known */
	const char *data, *ranks;    /* JSON objects, or NULL */
};
int jsonl_rates(struct jsonl *j, const struct jsonl_rates *r);

/* Reports why the run is slow. evidence: JSON members, each after a comma. */
int jsonl_slow(struct jsonl *j, int64_t step, int64_t samples, double seconds,
               const char *evidence);
/* Reports the origin of values of the step that are not finite. members: as evidence above. */
int jsonl_nonfinite(struct jsonl *j, int64_t step, const char *members);
/* Reports a skipped step. members: as above. */
int jsonl_skipped(struct jsonl *j, int64_t step, const char *members);
/* A checkpoint that has become durable. */
struct jsonl_checkpoint {
	int64_t step;
	const char *id;
	const char *durable;           /* where it is stored: "store": in the run's store; "host": on
	                                * hosts' own disks */
	uint64_t bytes, raw;           /* bytes added to the disk; bytes of the state */
	double seconds, staged;        /* seconds from its beginning until it was durable, and until the
	                                * state was copied */
	double stall;                  /* seconds for which training was stopped */
	double interval;               /* seconds to the next one, computed from the expected failure
	                                * rate; 0: none */
};
int jsonl_checkpoint(struct jsonl *j, const struct jsonl_checkpoint *c);

/* Whether the file at path says that a checkpoint was saved to the run's store; false if there is
 * no file. */
bool jsonl_saved(const char *path);

#endif
