/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a version is besides its tensors, as one JSON text that travels in a file with them, so that
 * a run can go on from the file elsewhere. */
#ifndef DLX_DATA_TOOLS_CKPT_ORIGIN_H
#define DLX_DATA_TOOLS_CKPT_ORIGIN_H

#include "ckpt/manifest.h"

/* Its name among a safetensors file's metadata, and among the arrays of an .npz. */
#define ORIGIN_KEY "dlx_version"

struct origin {
	struct manifest m;             /* step, epoch, metrics, scalars, config, program, data, ranks */
	int nstate;
	const char *const *state;      /* names of tensors that are no weights */
};

/* In a. */
const char *origin_write(struct arena *a, const struct manifest *m);
/* file names the text in errors. All in a. E_DATA. */
int origin_read(struct origin *out, struct arena *a, const char *file, const char *text,
                size_t size);
bool origin_is_state(const struct origin *o, const char *tensor);

#endif
