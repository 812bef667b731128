/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first config for records that no config is there for: task, sizes and classes are those of
 * the data. */
#ifndef DLX_CLI_FIRST_CONFIG_H
#define DLX_CLI_FIRST_CONFIG_H

#include "base/buf.h"
#include "cli/options.h"
#include "data/loader.h"

struct comm;
struct suggestion;

/* What is known of the data: records, or patterns of them, to train with, and to validate with
 * (NULL: none). E_DATA where there is nothing to learn, E_NOINPUT. suggest_close. */
int suggest_open(struct suggestion **out, const char *train, const char *validation);
void suggest_close(struct suggestion *s);            /* NULL is fine */
/* Writes a commented config of the run `name`; linear: of a network without a hidden layer, which
 * the other one has to beat. */
void suggest_write(const struct suggestion *s, const char *name, bool linear, struct buf *out);
int64_t suggest_batch(const struct suggestion *s);
/* Halves the batch; false: it is one sample. */
bool suggest_less(struct suggestion *s);
/* Chooses how long to train by the flops of one sample, forward; parameters: of the network. */
void suggest_length(struct suggestion *s, double flops);
/* What was found, for people: "1437 samples of 1 channel of 8 x 8: which of 10 classes". */
void suggest_describe(const struct suggestion *s, struct buf *out);

/* The command: o->suggest has one or two texts. */
int first_config_run(const struct options *o, struct comm *c);

#endif
