/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_DATA_TOOLS_SOURCE_TFRECORD_H
#define DLX_DATA_TOOLS_SOURCE_TFRECORD_H

#include <stdbool.h>

/* Whether the first bytes are those of a TFRecord file, compressed or not, by their checksum:
 * nothing else tells. */
bool source_is_tfrecord(const char *path);

#endif
