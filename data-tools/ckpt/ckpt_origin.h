/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The metadata of a version (all but its tensors) as one JSON text, stored in an exported file
 * together with the tensors, so that a run can resume from the file elsewhere. */
#ifndef DLX_DATA_TOOLS_CKPT_ORIGIN_H
#define DLX_DATA_TOOLS_CKPT_ORIGIN_H

#include "ckpt/manifest.h"

/* The key of the text in a safetensors file's metadata, and its name among the arrays of an
 * .npz. */
#define ORIGIN_KEY "dlx_version"

struct origin {
	struct manifest m;             /* step, epoch, metrics, scalars, config, program, data, ranks */
	int nstate;
	const char *const *state;      /* number and names of the tensors that are not weights */
};

/* Writes the text, in arena a. */
const char *origin_write(struct arena *a, const struct manifest *m);
/* Reads the text; `file` is its name in errors. All memory is in arena a. E_DATA. */
int origin_read(struct origin *out, struct arena *a, const char *file, const char *text,
                size_t size);
bool origin_is_state(const struct origin *o, const char *tensor);

#endif
