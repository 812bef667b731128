/* SPDX-License-Identifier: BSD-3-Clause
 *
 * checkpoint.plain: weights keeps the weights of the best version, or of the newest while no
 * validation finds best, as a safetensors file next to the versions, for programs that do
 * not know their format. It is renewed after a version is durable, whole or not at all, and says
 * in its metadata which version it is of. */
#ifndef DLX_CKPT_PLAIN_H
#define DLX_CKPT_PLAIN_H

#include "base/arena.h"
#include "ckpt/ckpt.h"
#include "ckpt/safetensors.h"

#define PLAIN_FILE "weights.safetensors"

/* What the file of a state is to hold; data are borrowed from the state. */
struct plain {
	struct st_tensor *tensor;
	int n;
	const char **meta;             /* pairs, room for the version's at the end */
	int nmeta;
};
void plain_stage(struct plain *p, struct arena *a, const struct ckpt_state *state);
/* dir/weights.safetensors of version id. E_IO, E_CANTCREATE; the file is as it was then. */
int plain_write(const struct plain *p, const char *dir, const char *id);
/* Names of files that killed processes have left of writing it begin so (base/io_out.c). */
#define PLAIN_TMP PLAIN_FILE ".tmp-"

#endif
