/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record files that a conversion writes: one, or one for each part of a split, or for each of
 * these numbered shards. All get their names when all are complete. */
#ifndef DLX_DATA_TOOLS_CONVERT_FILES_H
#define DLX_DATA_TOOLS_CONVERT_FILES_H

#include "data-tools/convert/convert.h"

struct files;
struct journal;

/* c->output with ".dlx" or without it, PATH-PART.dlx, PATH-000000.dlx, PATH-PART-000000.dlx; c is
 * borrowed. */
/* journal: NULL, or that of the conversion; files then outlive a killed process, and with c->resume
 * one that fails. */
struct files *files_new(const struct conversion *c, const char *path, struct journal *journal);
/* Whether the files that begin are those of the journal. */
void files_replay(struct files *f, bool replay);
/* Begins anew; what is on the disk stays. */
void files_drop(struct files *f);
/* The samples to come are those of c, another plan for samples of the same kind. */
void files_use(struct files *f, const struct conversion *c);
/* The file that the sample with this place in c->sample goes to, which begins where need be; called
 * once a sample, in their order. */
int files_next(struct files *f, int64_t at, struct record_writer **w);
/* Gives all files their names if rc is 0, else removes them. Returns rc or what went wrong. */
int files_commit(struct files *f, int rc);
/* Prints what was written. */
int files_tell(const struct files *f);
void files_free(struct files *f);              /* NULL is fine */

#endif
