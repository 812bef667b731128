/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two choices that depend on the device: the type chosen for 'precision.compute: auto', and the
 * class of bf16 speed by which kernels on a CPU are chosen (backend/bf16_ratio.h). Both are the
 * same on all ranks. A resumed run keeps those of its checkpoint, so that it continues with the
 * same bits. */
#ifndef DLX_TRAIN_COMPUTE_H
#define DLX_TRAIN_COMPUTE_H

#include "plan/session.h"

/* The names of both among a checkpoint's scalars. */
#define COMPUTE_TYPE "compute"
#define COMPUTE_RATIO "bf16_ratio"

struct ckpt_version;

/* Sets s->config->chosen, after the device was opened. which: the checkpoint to resume from or to
 * take weights from, as in ckpt_load; NULL: none. E_UNAVAILABLE if the device cannot compute in
 * that type. Collective. */
int compute_settle(struct session *s, const char *which);
/* Warns if checkpoint v was made with other choices than this run's. This happens if compute_settle
 * could not read v. */
void compute_compare(const struct session *s, const struct ckpt_version *v);

#endif
