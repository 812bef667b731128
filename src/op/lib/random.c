/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The input that ops with random numbers share. */
#include "op/lib/random.h"

int random_key(struct graph *g, tid *out)
{
	const struct shape s = { .nd = 1, .d = { RANDOM_KEY_VALUES } };
	return graph_input(g, RANDOM_KEY, DTYPE_I64, &s, out);
}
