/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_CKPT_VERSION_ID_H
#define DLX_CKPT_VERSION_ID_H

#include "ckpt/manifest.h"

/* Whether name has the form of a version's id: twelve or more digits, a hyphen, eight lower-case
 * hexadecimal digits. */
bool version_valid_id(const char *name);
/* The id in a file's name that ends in suffix; false, and no id, for any other name. */
bool version_id_of(char id[CKPT_ID], const char *name, const char *suffix);
/* An id without its leading zeros, within it: "40-9f3c2a51". */
const char *version_bare_id(const char *id);

/* --- the version that a user's word means --- */

/* How well a word fits a version: as the beginning of its id, its step number, its id in full. The
 * id's zeros in front may be left out; but 40 is step 40 then, never the beginning of 400. Versions
 * of other runs in the store go by their ids alone. */
enum version_fit { FIT_NONE, FIT_PREFIX, FIT_STEP, FIT_ID };

/* A search: zeroed, then version_match of each version. */
struct version_search {
	enum version_fit best;
	int hits;                      /* versions that fit so */
	int hit;                       /* the index of the last of them */
	struct buf names;              /* of them all, in quotes */
};
/* own: whether version i is of the run that was asked. */
void version_match(struct version_search *s, const char *word, int i, const char *id, bool own);
/* Ends the search: 1 where one version fits, 0 where none does; E_USAGE with the ids of those that
 * fit equally well. */
int version_search_end(struct version_search *s, const char *word);

#endif
