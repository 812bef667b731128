/* SPDX-License-Identifier: BSD-3-Clause
 *
 * metrics.jsonl: what happened in a run, one JSON object a line, for programs to read while the
 * run goes on. Each line is handed to the system by one write, so that a reader never sees half of
 * one for long and a killed process loses none. Numbers that are not finite are written as null. */
#ifndef DLX_REPORT_JSONL_H
#define DLX_REPORT_JSONL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct jsonl;

#define JSONL_FRESH (-1)   /* resume_step of a run that starts at its beginning: an empty file */

/* Opens path for appending, made if missing. A resumed run cuts off what it is going to do again:
 * the lines of steps after resume_step, and an unfinished last line; lines without a step stay. A
 * validation of resume_step itself takes the place of the one that is there, if the run repeats it.
 * The file is replaced whole or not at all. E_CANTCREATE, E_IO. */
int jsonl_open(struct jsonl **out, const char *path, int64_t resume_step);
void jsonl_close(struct jsonl *j);   /* NULL is fine */

/* Each of these appends one line, or returns E_IO; after the first they allocate nothing unless a
 * line is longer than any before. */

/* What was started, and where: one line each time, whether
 * from the beginning or from a checkpoint. */
struct jsonl_start {
	int64_t step;          /* that it goes on from */
	double time;           /* seconds since 1970 */
	const char *name, *version;
	int ranks, hosts, threads;           /* threads of one rank */
	const char *host, *device, *device_description, *precision;
	int64_t batch;         /* samples of an update, on all ranks */
	int64_t samples;       /* of an epoch, on all ranks */
	int64_t parameters;
	const char *model, *input;   /* its family; the shape of a sample */
	const char *plan;      /* fingerprint */
	const char *metric;    /* that decides which validation is the best */
	double best;           /* of it so far, a fork's origin included; NaN: none yet */
	int64_t best_step;     /* -1: not known */
	const char *memory;    /* planned and taken, an object; or NULL */
	double sample_flops;   /* of training on one sample */
	double forward_flops;  /* of convolutions and dense layers on one sample; does
	                        * not depend on batch and device */
	double peak_flops;     /* of one rank's device, flop/s; 0: not known */
	const char *scheduler, *job, *element;   /* NULL: none */
	int restarts;          /* of the job, by the scheduler */
};
int jsonl_start(struct jsonl *j, const struct jsonl_start *s);

struct jsonl_step {
	int64_t step, epoch;
	double loss, learning_rate, samples_per_second, seconds;
	int64_t samples;       /* so far, all epochs */
	double loss_scale;     /* 0: none, and it is not written */
	bool guarded;          /* steps may be left out without one, too */
	int64_t skipped;       /* steps left out so far */
	const int64_t *size;   /* extents of the samples' places, where training has several sizes */
	int axes;              /* of these; 0: nothing is written */
	const struct jsonl_value {
		const char *name;
		double v;
	} *value;              /* terms and variables of equations: "term/NAME", "variable/NAME" */
	int nvalues;
};
int jsonl_step(struct jsonl *j, const struct jsonl_step *s);

struct jsonl_metric {
	const char *name;
	int n;                 /* numbers in value */
	bool list;             /* written as a list; else n is 1 */
	int columns;           /* not 0: as a list of rows, which are lists of this many */
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
	double flops;                /* of a sample; 0: not known */
	const char *data, *ranks;    /* objects, or NULL */
};
int jsonl_rates(struct jsonl *j, const struct jsonl_rates *r);

/* Why the run is slow. evidence: members of an object, each after a comma. */
int jsonl_slow(struct jsonl *j, int64_t step, int64_t samples, double seconds,
               const char *evidence);
/* Where values of the step come from that are not finite. members: as evidence. */
int jsonl_nonfinite(struct jsonl *j, int64_t step, const char *members);
/* A step that was left out; likewise. */
int jsonl_skipped(struct jsonl *j, int64_t step, const char *members);
/* A checkpoint that is durable. */
struct jsonl_checkpoint {
	int64_t step;
	const char *id;
	const char *durable;           /* where: "store", of the run; "host", on hosts' own disks */
	uint64_t bytes, raw;           /* that it added to the disk; of the state */
	double seconds, staged;        /* from its beginning: to durable; to the copy of the state */
	double stall;                  /* in which training stood still for it */
	double interval;               /* to the next, by the failures that are expected; 0: none */
};
int jsonl_checkpoint(struct jsonl *j, const struct jsonl_checkpoint *c);

/* Whether the file at path, which need not be there, says that the run's store had a checkpoint. */
bool jsonl_saved(const char *path);

#endif
