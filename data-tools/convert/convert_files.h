/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record files that a conversion writes: one file, or one for each part of a split, each
 * possibly in numbered shards. They get their final names when all are complete. */
#ifndef DLX_DATA_TOOLS_CONVERT_FILES_H
#define DLX_DATA_TOOLS_CONVERT_FILES_H

#include "data-tools/convert/convert.h"

struct files;
struct journal;

/* path: c->output with or without ".dlx". The files are PATH.dlx, PATH-PART.dlx, PATH-000000.dlx or
 * PATH-PART-000000.dlx. c is borrowed. */
/* journal: NULL, or the conversion's journal, with which unfinished files are kept if the process
 * is killed and, with c->resume, if it fails. */
struct files *files_new(const struct conversion *c, const char *path, struct journal *journal);
/* replay: the files that begin from now on are already in the journal. */
void files_replay(struct files *f, bool replay);
/* Begins anew, without removing files from the disk. */
void files_drop(struct files *f);
/* The next samples are those of c, another plan for samples of the same kind. */
void files_use(struct files *f, const struct conversion *c);
/* Gets the file for the sample at index `at` of c->sample, and begins the file if necessary. Call
 * it once per sample, in order. */
int files_next(struct files *f, int64_t at, struct record_writer **w);
/* Gives all files their final names if rc is 0, else removes them. Returns rc, or the error of this
 * call. */
int files_commit(struct files *f, int rc);
/* Prints a summary of the written files. */
int files_tell(const struct files *f);
void files_free(struct files *f);              /* NULL is fine */

#endif
