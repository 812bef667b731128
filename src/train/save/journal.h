/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The journal of a run: metrics.jsonl and, if configured, a TensorBoard event file, both in the
 * run's folder. A resumed run removes the lines of steps after the one from which it resumes. */
#ifndef DLX_TRAIN_JOURNAL_H
#define DLX_TRAIN_JOURNAL_H

#include "ckpt/ckpt.h"
#include "report/jsonl.h"
#include "train/predict/evaluate.h"
#include "train/run/rates.h"

struct journal;

/* Opens the journal of the run folder dir. resumed_step: lines of later steps are removed; 0: a new
 * journal. */
int journal_open(struct journal **out, const char *dir, bool tensorboard, int64_t resumed_step);
void journal_close(struct journal *j);                /* NULL is fine */

/* The content of the start line, in addition to ranks, hosts, device and job. */
struct journal_begin {
	int64_t step;
	int64_t batch;               /* samples of a step on all ranks */
	int64_t samples;             /* samples of an epoch */
	double sample_flops;         /* flops of a sample in a step */
	double best;                 /* best validation so far, with its original sign; NaN: none */
	int64_t best_step;
};
void journal_begin(struct journal *j, const struct session *s, const struct journal_begin *b);
/* Writes the start line once: after the first step, since
 * measuring the device's peak would delay that. NULL is fine. */
int journal_start(struct journal *j);
int journal_step(struct journal *j, const struct jsonl_step *s);

struct journal_at {
	int64_t step, epoch, samples;
	double seconds;
};
int journal_validation(struct journal *j, const struct journal_at *at, const struct evaluation *e);
/* Writes the rates as last updated. flops: those of a sample, 0 if not known. */
int journal_rates(struct journal *j, const struct journal_at *at, const struct rates *r,
                  double flops);
/* evidence: JSON members from slow_watch_look. */
int journal_slow(struct journal *j, const struct journal_at *at, const char *evidence);
/* members: JSON members, each after a comma (train/diagnose/finding.h). */
int journal_nonfinite(struct journal *j, int64_t step, const char *members);
int journal_skipped(struct journal *j, int64_t step, const char *members);
/* The other arguments are those of jsonl_checkpoint. */
int journal_checkpoint(struct journal *j, const struct ckpt_done *d, const char *durable,
                       double stall, double interval);

#endif
