/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognises the format of a file by its first bytes or its name, for messages about a file of the
 * wrong kind. */
#ifndef DLX_BASE_FILE_KIND_H
#define DLX_BASE_FILE_KIND_H

#include <stddef.h>

#define FILE_KIND_BYTES 352      /* number of bytes at the beginning that are examined */

enum file_use {
	FILE_WEIGHTS_TORCH,          /* weights of PyTorch */
	FILE_WEIGHTS_OTHER,          /* weights of another framework, or a format for inference */
	FILE_ARRAYS,                 /* arrays; an HDF5 file may also contain weights of Keras */
	FILE_PICTURE,
	FILE_RECORD,                 /* dlx's own */
	FILE_SAFETENSORS,
	FILE_PACKED,                 /* compressed as a whole */
	FILE_FOREIGN                 /* scientific data that other programs convert to arrays; the text
	                              * names them */
};

/* The format as a text, "a PyTorch checkpoint", or NULL if unknown; *use: its purpose. head: the
 * first n bytes. */
const char *file_kind(const void *head, size_t n, enum file_use *use);
/* The same for a file; NULL also if it cannot be read. */
const char *file_kind_of(const char *path, enum file_use *use);

/* The format as a text, by the ending of the name (in any case); NULL: unknown. */
const char *file_kind_named(const char *path);

#endif
