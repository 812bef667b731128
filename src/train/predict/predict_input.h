/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that predictions are made of. Records are read as they are; NetCDF, HDF5, NumPy, IDX,
 * PNG and TIFF files become records in a temporary folder first, which dlx-convert makes. */
#ifndef DLX_TRAIN_PREDICT_INPUT_H
#define DLX_TRAIN_PREDICT_INPUT_H

#include "base/option.h"
#include "plan/session.h"

/* Records with the samples of these files (patterns, "FILE:NAME,NAME"), in order: those named, or
 * temporary ones; predict_input_release releases the list. layout: of --input-layout, or NULL.
 * They are read as s->train_set, where it is known, says that inputs are. E_USAGE where records
 * are next to other files; E_NOINPUT, E_DATA, E_UNAVAILABLE as dlx-convert. Collective: ranks
 * that see the first rank's folder share it. */
int predict_input(struct session *s, const struct texts *files, const char *layout, bool quiet,
                  struct texts *out);
/* How many of them are records, as far as their names and first bytes tell. */
int predict_records(const struct texts *files);
/* Whether the files given are no records, so that the records are made of them. */
bool predict_converts(const struct texts *files);
void predict_input_release(struct texts *records);

#endif
