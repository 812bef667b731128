/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan comes to, for people ("--check", "--plan") and programs ("--plan=json"): sizes, flops, memory, the kernels chosen. */
#ifndef DLX_TRAIN_DESCRIBE_H
#define DLX_TRAIN_DESCRIBE_H

#include "train/session.h"

/* Memory of one plan in bytes. activations, gradients and workspace are what is alive at the fullest node. */
struct plan_memory {
	int64_t parameters, optimizer, gradients, activations, workspace;
	int64_t inputs;
	int64_t peak;              /* everything together */
};
void describe_memory(const struct plan *p, struct plan_memory *m);
/* Flops of one sample as publications count them: convolutions and dense layers, forward. */
double describe_forward_flops(const struct plan *p);
/* The same where dilated convolutions are counted as run by space-to-batch: that is the 14.41 TFLOP that
 * Kurth et al. 2018 give for DeepLabv3+. Equal to the former without such convolutions. */
double describe_space_to_batch_flops(const struct plan *p);

void describe_check(const struct session *s, struct buf *out);      /* one screen */
void describe_text(const struct session *s, struct buf *out);       /* the whole plan */
void describe_json(const struct session *s, struct buf *out);
void describe_dot(const struct session *s, struct buf *out);

/* "12,345", "1.5 MiB", "3.2 GF" into buf of 32 bytes; return buf. */
const char *count_text(int64_t n, char *buf);
const char *bytes_text(double bytes, char *buf);

#endif
