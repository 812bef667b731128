/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the pictures of "--predict" are called: as the files they are made of, where each of these
 * is one sample and has a name of its own. */
#ifndef DLX_TRAIN_PICTURE_NAMES_H
#define DLX_TRAIN_PICTURE_NAMES_H

#include "base/option.h"

/* The names, without folder and extension, of the files that `given` stands for, in the order of
 * their samples, in the records made of them. None where a file is a record or several samples, two
 * have one name, or a picture in folder out would be one of the inputs (io_input).
 * picture_names_release releases them. */
void picture_names_find(const struct texts *given, const struct texts *records, const char *out,
                        struct texts *names);
void picture_names_release(struct texts *names);
/* The path of a picture in a folder, mem_free. */
char *picture_path(const char *folder, const char *name);

#endif
