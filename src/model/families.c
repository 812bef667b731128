/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of model families, once as families and once as rows the config is read by. */
#include "model/families.h"

#define X(id, name, doc)                                                                  \
	static const struct family family_##id = { name, doc, id##_fields, sizeof(struct id), \
		                                       id##_check, id##_build };
FAMILIES(X)
#undef X

const struct variant model_variants[] = {
#define X(id, name, doc) { name, doc, id##_fields, sizeof(struct id), "family", id##_presets, \
	                         &family_##id },
	FAMILIES(X)
#undef X
		{ 0 }
};
