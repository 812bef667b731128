/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a Zarr store, which is a folder, or a ZIP file with the folder's files in it. Paths
 * begin with that of the store; those of a ZIP file go on inside it. */
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
/* The names in a folder, but those that begin with a dot, and how many; each and the list are the
 * caller's to mem_free. */
char **zarr_store_list(const struct zarr_store *st, const char *folder, int *n);
/* A file appended to out. E_DATA beyond 64 MiB; E_NOINPUT, E_IO. */
int zarr_store_text(const struct zarr_store *st, const char *path, struct buf *out);
/* A whole file; io_image_release. */
int zarr_store_image(const struct zarr_store *st, const char *path, struct io_image *out);
/* A file of which parts are read, and how many bytes it has; zarr_part_close. One of a ZIP file is
 * verified by its checksum. */
struct zarr_part;
int zarr_part_open(struct zarr_part **out, const struct zarr_store *st, const char *path,
                   uint64_t *size);
int zarr_part_read(struct zarr_part *p, uint64_t at, void *out, size_t n);
void zarr_part_close(struct zarr_part *p);       /* NULL is fine */
/* The sizes of the files below a folder added up until they are `enough`. */
uint64_t zarr_store_sum(const struct zarr_store *st, const char *folder, uint64_t enough);

#endif
