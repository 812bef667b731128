/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a run computes, where that depends on the device: the type that 'precision.compute: auto'
 * stands for, and the class of products in bf16 by which kernels on a CPU are chosen. Both are the
 * same on all ranks, and a run that goes on keeps those that its checkpoint was made with, so that
 * its bits go on too. */
#ifndef DLX_TRAIN_COMPUTE_H
#define DLX_TRAIN_COMPUTE_H

#include "plan/session.h"

/* Their names among a checkpoint's scalars. */
#define COMPUTE_TYPE "compute"
#define COMPUTE_RATIO "bf16_ratio"

struct ckpt_version;

/* Sets s->config->chosen, once the device is open. which: the checkpoint that is gone on from or
 * whose weights are used, as in ckpt_load; NULL: none. E_UNAVAILABLE where the device cannot
 * compute in that type. Collective. */
int compute_settle(struct session *s, const char *which);
/* Warns if v was made otherwise than this run computes: compute_settle did not see it. */
void compute_compare(const struct session *s, const struct ckpt_version *v);

#endif
