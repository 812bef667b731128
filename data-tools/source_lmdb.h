/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_DATA_TOOLS_SOURCE_LMDB_H
#define DLX_DATA_TOOLS_SOURCE_LMDB_H

#include <stdbool.h>

/* Whether a file, or data.mdb in a folder, begins as an LMDB database does. */
bool source_is_lmdb(const char *path);

#endif
