/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a file is that is not what was expected, as far as its first bytes tell, or its name. */
#ifndef DLX_BASE_FILE_KIND_H
#define DLX_BASE_FILE_KIND_H

#include <stddef.h>

#define FILE_KIND_BYTES 352      /* what the answer may depend on */

enum file_use {
	FILE_WEIGHTS_TORCH,          /* of PyTorch */
	FILE_WEIGHTS_OTHER,          /* of another framework, or in a form for running networks */
	FILE_ARRAYS,                 /* may hold weights of Keras too, if HDF5 */
	FILE_PICTURE,
	FILE_RECORD,                 /* dlx's own */
	FILE_SAFETENSORS,
	FILE_PACKED,                 /* compressed as a whole */
	FILE_FOREIGN                 /* data that other programs make arrays of: the kind says which */
};

/* "a PyTorch checkpoint", or NULL; use: what it is for. */
const char *file_kind(const void *head, size_t n, enum file_use *use);
/* The same of a file; NULL too if it cannot be read. */
const char *file_kind_of(const char *path, enum file_use *use);

/* What a name is that ends as those of a known format do, in capitals, too; NULL: of none. */
const char *file_kind_named(const char *path);

#endif
