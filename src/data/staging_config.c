/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys of data.stage. */
#include <string.h>

#include "data/staging.h"

static const char *const copy_names[] = { "share", "all", NULL };

const struct field staging_fields[] = {
	FIELD(struct staging_config, dir, FT_PATH, .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "a folder on each host's own disk, or in its memory (/dev/shm), which is made if "
	             "it is not there; null or false: samples are read where they are"),
	FIELD_ENUM(struct staging_config, copy, "share", copy_names,
	           "what a host keeps: share: its part, and samples of other parts come from the hosts "
	           "that have them; all: every host everything"),
	FIELD(struct staging_config, limit, FT_BYTES, .dflt = "null", .min = 0, .max = 1e18,
	      .flags = FIELD_NULLABLE,
	      .doc = "bytes that a host keeps at most; what is beyond stays where the record files "
	             "are; null: as many as the disk takes"),
	FIELD_END
};

bool staging_wanted(const struct staging_config *c)
{
	return c->dir && strcmp(c->dir, "false") != 0;
}
