/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Versions that are kept regardless of the keep policy: tags (names that the user gives) and pins.
 * Each is a small file of the store, tags/NAME or pins/ID, with one line, "ID HASH": the version's
 * id, and XXH3 of "tags/NAME ID" or "pins/ID ID". It is written completely or not at all. */
#ifndef DLX_CKPT_REFS_H
#define DLX_CKPT_REFS_H

#include "base/disk.h"

#define TAGS_FOLDER "tags"
#define PINS_FOLDER "pins"

struct ref {
	const char *name;              /* name of a tag; NULL for a pin */
	const char *id;
};
struct refs {
	struct ref *ref;               /* sorted: tags by name, then pins by id */
	int n;
	struct buf text;
};

/* Reads all tags and pins. A missing folder has none. A damaged file is E_DATA, so that a version
 * is not removed because the file that protects it cannot be read. */
int refs_read(struct refs *out, struct disk *d, const char *root);
void refs_release(struct refs *r);
bool refs_keep(const struct refs *r, const char *id);
const char *refs_find(const struct refs *r, const char *tag);     /* an id, or NULL */
/* Whether a tag's name is valid: at most 100 letters, digits, '.', '_', '-', not beginning with
 * '.', and without another meaning for --resume (a number, an id, auto, last, best). */
bool refs_valid_tag(const char *name);
/* E_USAGE if the name is not valid; an existing tag is moved to id. */
int refs_set_tag(struct disk *d, const char *root, const char *name, const char *id);
int refs_drop_tag(struct disk *d, const char *root, const char *name);     /* E_NOINPUT */
int refs_set_pin(struct disk *d, const char *root, const char *id);
int refs_drop_pin(struct disk *d, const char *root, const char *id);      /* E_NOINPUT */

#endif
