/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_CKPT_VERSION_ID_H
#define DLX_CKPT_VERSION_ID_H

#include "ckpt/manifest.h"

/* Whether name has the form of a version's id: twelve or more digits, a hyphen, eight lower-case
 * hexadecimal digits. */
bool version_valid_id(const char *name);
/* Extracts the id from a file name that ends in suffix; returns false, and no id, for any other
 * name. */
bool version_id_of(char id[CKPT_ID], const char *name, const char *suffix);
/* The part of an id after its leading zeros: "40-9f3c2a51". */
const char *version_bare_id(const char *id);

/* --- the version that a user's word means --- */

/* How a word matches a version, from worst to best: as a prefix of its id, as its step number, as
 * its complete id. Leading zeros of the id may be left out, but then 40 means step 40, never a
 * prefix of 400. Versions of other runs in the store are matched by id only. */
enum version_fit { FIT_NONE, FIT_PREFIX, FIT_STEP, FIT_ID };

/* State of a search: zero it, then call version_match for each version. */
struct version_search {
	enum version_fit best;
	int hits;                      /* number of versions that match in this manner */
	int hit;                       /* the index of the last of them */
	struct buf names;              /* ids of all of these, in quotes */
};
/* own: version i belongs to the run in question. */
void version_match(struct version_search *s, const char *word, int i, const char *id, bool own);
/* Ends the search: 1 if one version matches, 0 if none does; E_USAGE with the ids if several match
 * equally well. */
int version_search_end(struct version_search *s, const char *word);

#endif
