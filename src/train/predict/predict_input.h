/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The input files of predictions. Records are read directly. NetCDF, HDF5, NumPy, IDX, PNG and TIFF
 * files are first converted by dlx-convert to records in a temporary folder. */
#ifndef DLX_TRAIN_PREDICT_INPUT_H
#define DLX_TRAIN_PREDICT_INPUT_H

#include "base/option.h"
#include "plan/session.h"

/* Sets *out to the paths of records with the samples of these files (patterns, "FILE:NAME,NAME"),
 * in order: the files themselves, or temporary records. Release with predict_input_release. layout:
 * the value of --input-layout, or NULL. If s->train_set is known, dlx-convert reads the files
 * according to its description. E_USAGE if `files` mixes records and other files; E_NOINPUT,
 * E_DATA, E_UNAVAILABLE as convert_program_run. Collective: ranks that can read rank 0's temporary
 * folder share it. */
int predict_input(struct session *s, const struct texts *files, const char *layout, bool quiet,
                  struct texts *out);
/* The number of records among the files, judged by names and first bytes. */
int predict_records(const struct texts *files);
/* Whether the files are no records, so that they must be converted. */
bool predict_converts(const struct texts *files);
void predict_input_release(struct texts *records);

#endif
