/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes a plan for people ("--check", "--plan") and for programs ("--plan=json"): sizes, flops,
 * memory, chosen kernels. */
#ifndef DLX_PLAN_DESCRIBE_H
#define DLX_PLAN_DESCRIBE_H

#include "plan/session.h"

/* Flops of one sample as publications count them: convolutions and dense layers, forward. */
double describe_forward_flops(const struct plan *p);
/* Values of the network's parameters, frozen ones included. */
int64_t describe_parameters(const struct plan *p);

void describe_check(const struct session *s, struct buf *out);      /* one screen */
void describe_text(const struct session *s, struct buf *out);       /* the whole plan */
void describe_json(const struct session *s, struct buf *out);
void describe_dot(const struct session *s, struct buf *out);
/* the memory map as a picture */
void describe_svg(const struct session *s, struct buf *out);

#endif
