/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the files of a Zarr store, which is a folder, or a ZIP file that contains the folder's
 * files. A path begins with that of the store; in a ZIP file the rest of the path names a
 * member. */
#ifndef DLX_DATA_TOOLS_ZARR_STORE_H
#define DLX_DATA_TOOLS_ZARR_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/io_reader.h"

struct zarr_store;

/* E_NOINPUT, E_IO; E_DATA for a damaged ZIP file. */
int zarr_store_open(struct zarr_store **out, const char *path);
void zarr_store_close(struct zarr_store *st);    /* NULL is fine */
bool zarr_store_is_zip(const struct zarr_store *st);
bool zarr_store_has_file(const struct zarr_store *st, const char *path);
bool zarr_store_has_folder(const struct zarr_store *st, const char *path);
/* The names in a folder, without those that begin with a dot, and their number *n. The caller frees
 * each name and the list with mem_free. */
char **zarr_store_list(const struct zarr_store *st, const char *folder, int *n);
/* Appends the content of a file to out. E_DATA above 64 MiB; E_NOINPUT, E_IO. */
int zarr_store_text(const struct zarr_store *st, const char *path, struct buf *out);
/* Reads a whole file; release with io_image_release. */
int zarr_store_image(const struct zarr_store *st, const char *path, struct io_image *out);
/* Opens a file of which parts will be read, and sets *size to its bytes. Close with
 * zarr_part_close. A member of a ZIP file is verified by its checksum. */
struct zarr_part;
int zarr_part_open(struct zarr_part **out, const struct zarr_store *st, const char *path,
                   uint64_t *size);
int zarr_part_read(struct zarr_part *p, uint64_t at, void *out, size_t n);
void zarr_part_close(struct zarr_part *p);       /* NULL is fine */
/* The sum of the sizes of the files below a folder. The summation stops once it is at least
 * `enough`. */
uint64_t zarr_store_sum(const struct zarr_store *st, const char *folder, uint64_t enough);

#endif
