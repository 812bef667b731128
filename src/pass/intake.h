/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that the first nodes of a step read, and no others. */
#ifndef DLX_PASS_INTAKE_H
#define DLX_PASS_INTAKE_H

#include "pass/pass.h"

/* Sets read_first of prefetched inputs. The order of nodes is final, but for what later passes put
 * after the readers of those inputs. */
int pass_intake(struct graph *g, struct pass_env *env);

#endif
