/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of a run's plans are proven before the run uses them (backend/proof/proof.h): those
 * that this machine has not proven before. What is wrong on one rank is passed over on all. */
#ifndef DLX_PLAN_PROOFS_H
#define DLX_PLAN_PROOFS_H

#include "comm/comm.h"
#include "plan/plan.h"

struct proofs;

/* Reads this machine's verdicts, so that plans pass over what is known to be wrong on it or on that
 * of another rank. Nothing is proven on the reference, on a GPU that is not there, with
 * DLX_DEBUG=proof=no, or by a program that does not (proof_enable): such a rank hears of the
 * others' alone. Collective. dev: for as long as *out. */
void proofs_open(struct proofs **out, const struct device *dev, struct comm *c);
void proofs_free(struct proofs *p);              /* NULL is fine */
/* Kernels of a plan that have no verdict yet; 0 where nothing is proven. */
int proofs_missing(const struct proofs *p, const struct plan *plan);
/* Proves these, one rank of a host first; on a GPU for half a minute, before the run takes memory
 * there. True: what is passed over has changed, and the plan is to
 * be made again. Collective, over ranks that all have such a plan; c is NULL for a plan that this
 * rank may have alone, of which it shares nothing. */
bool proofs_make(struct proofs *p, const struct plan *plan, struct comm *c);

/* Notes what plans have met so far of the kernels that are passed over, each once. */
void proofs_say(const struct proofs *p);
/* For --plan: what is passed over, and how many kernels of the plan no run has proven yet. */
void proofs_describe(const struct proofs *p, const struct plan *plan, struct buf *out);
void proofs_json(const struct proofs *p, const struct plan *plan, struct buf *out);
/* What decides, in addition to the config, which kernels there are, for checkpoints: all ranks have
 * the same ("avx512; conv_grad_weight ...: jit:avx512_core, wrong values"). On a GPU what is passed
 * over alone. */
void proofs_state(const struct proofs *p, struct buf *out);

#endif
