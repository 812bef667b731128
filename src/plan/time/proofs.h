/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the kernels of a run's plans against reference results before the run uses them
 * (backend/proof/proof.h), if this machine has not tested them before. A kernel that is wrong on
 * one rank is avoided on all ranks. */
#ifndef DLX_PLAN_PROOFS_H
#define DLX_PLAN_PROOFS_H

#include "comm/comm.h"
#include "plan/plan.h"

struct proofs;

/* Reads the verdicts of this machine and of the other ranks' machines, so that plans avoid the
 * kernels known to be wrong. A rank tests no kernels on the reference device, on a GPU that is not
 * present, with DLX_DEBUG=proof=no, or in a program that has not called proof_enable; it then only
 * receives the verdicts of other ranks. *out borrows dev. Collective. */
void proofs_open(struct proofs **out, const struct device *dev, struct comm *c);
void proofs_free(struct proofs *p);              /* NULL is fine */
/* The number of a plan's kernels that have no verdict yet; 0 if this rank tests none. */
int proofs_missing(const struct proofs *p, const struct plan *plan);
/* Tests these kernels, on one rank of each host first; on a GPU for at most half a minute, and
 * before the run takes its memory. Returns true if more kernels are avoided now, so that the plan
 * must be made again. Collective over c, all of whose ranks have such a plan. c is NULL for a plan
 * that only this rank may have; its verdicts are not shared. */
bool proofs_make(struct proofs *p, const struct plan *plan, struct comm *c);

/* Prints a note for each avoided kernel that a plan would have used, once per kernel. */
void proofs_say(const struct proofs *p);
/* For --plan: the avoided kernels, and the number of the plan's kernels that have not been tested
 * yet. */
void proofs_describe(const struct proofs *p, const struct plan *plan, struct buf *out);
void proofs_json(const struct proofs *p, const struct plan *plan, struct buf *out);
/* For checkpoints, the facts besides the config that determine the choice of kernels, the same on
 * all ranks: the instruction set and the avoided kernels ("avx512; conv_grad_weight ...:
 * jit:avx512_core, wrong values"). On a GPU only the avoided kernels. */
void proofs_state(const struct proofs *p, struct buf *out);

#endif
