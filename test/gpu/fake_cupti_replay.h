/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the emulated GPU reports about recordings, for the stand-in of CUPTI. */
#ifndef DLX_TEST_GPU_FAKE_CUPTI_REPLAY_H
#define DLX_TEST_GPU_FAKE_CUPTI_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* Nodes have numbers from 1 on, those of an executable graph others than those it was made of. */
struct emulate_watcher {
	void (*created)(long node);
	void (*cloned)(long node, long original);
	void (*ran)(long node, long launch, const char *name, uint64_t start, uint64_t end);
};
void emulate_watch(const struct emulate_watcher *w);         /* NULL: nothing watches */

/* NULL: it has no such function. */
void *fake_cupti_function(const char *name);

#endif
