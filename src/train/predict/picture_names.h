/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of the pictures of "--predict". A picture is named after its input file, if each input
 * file has one sample and the file names differ. */
#ifndef DLX_TRAIN_PICTURE_NAMES_H
#define DLX_TRAIN_PICTURE_NAMES_H

#include "base/option.h"

/* Sets *names to the names, without folder and extension, of the files that the patterns in `given`
 * match, in the order of their samples in the records made of them. *names is empty if a file is a
 * record or has several samples, if two files have the same name, or if a picture in folder out
 * would overwrite an input (io_input). Release with picture_names_release. */
void picture_names_find(const struct texts *given, const struct texts *records, const char *out,
                        struct texts *names);
void picture_names_release(struct texts *names);
/* The path of a picture in a folder; free with mem_free. */
char *picture_path(const char *folder, const char *name);

#endif
