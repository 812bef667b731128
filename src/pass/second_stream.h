/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes that a GPU runs concurrently with the others. */
#ifndef DLX_PASS_SECOND_STREAM_H
#define DLX_PASS_SECOND_STREAM_H

#include "pass/pass.h"

/* Sets node.join. The order of nodes is final. */
int pass_second_stream(struct graph *g, struct pass_env *env);

#endif
