/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--suggest": writes a first config for records. The task, the sizes and the classes are derived
 * from the data. */
#ifndef DLX_CLI_FIRST_CONFIG_H
#define DLX_CLI_FIRST_CONFIG_H

#include "base/buf.h"
#include "cli/options.h"
#include "data/loader.h"

struct comm;
struct suggestion;

/* Examines the data. train, validation: records, or patterns of them, to train and to validate with
 * (validation may be NULL). E_DATA if the data has nothing to learn; E_NOINPUT. Release with
 * suggest_close. */
int suggest_open(struct suggestion **out, const char *train, const char *validation);
void suggest_close(struct suggestion *s);            /* NULL is fine */
/* Appends a commented config for the run `name`. linear: with a network without a hidden layer, as
 * a baseline for the other one. */
void suggest_write(const struct suggestion *s, const char *name, bool linear, struct buf *out);
int64_t suggest_batch(const struct suggestion *s);
/* Halves the batch; false: it is already one sample. */
bool suggest_less(struct suggestion *s);
/* Chooses the length of training from the forward flops of one sample. */
void suggest_length(struct suggestion *s, double flops);
/* Appends a description of the data for people: "1437 samples of 1 channel of 8 x 8: which of 10
 * classes". */
void suggest_describe(const struct suggestion *s, struct buf *out);

/* Runs the command; o->suggest has one or two texts. */
int first_config_run(const struct options *o, struct comm *c);

#endif
