/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key checkpoint.plain: `weights` keeps a safetensors file next to the versions, for programs
 * that cannot read the versions' format. It has the weights of the best version, or of the newest
 * if no validation has found a best one. It is replaced after a version is durable, completely or
 * not at all, and its metadata name the version. */
#ifndef DLX_CKPT_PLAIN_H
#define DLX_CKPT_PLAIN_H

#include "base/arena.h"
#include "ckpt/ckpt.h"
#include "ckpt/safetensors.h"

#define PLAIN_FILE "weights.safetensors"

/* The content of the file for a state; data are borrowed from the state. */
struct plain {
	struct st_tensor *tensor;
	int n;
	const char **meta;             /* key-value pairs, with room at the end for that of the
	                                * version */
	int nmeta;
};
void plain_stage(struct plain *p, struct arena *a, const struct ckpt_state *state);
/* Writes dir/weights.safetensors for version id. E_IO, E_CANTCREATE; then the file is unchanged. */
int plain_write(const struct plain *p, const char *dir, const char *id);
/* Prefix of the temporary files that killed processes may have left (base/io_out.c). */
#define PLAIN_TMP PLAIN_FILE ".tmp-"

#endif
