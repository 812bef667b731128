/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/predict_request.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"

static const struct field request_fields[] = {
	FIELD_NODE(struct predict_request, grid, NULL, "points along each coordinate"),
	FIELD(struct predict_request, record, FT_PATH, .flags = FIELD_NULLABLE,
	      .doc = "a record of points or samples"),
	FIELD(struct predict_request, sensors, FT_STRING, .flags = FIELD_NULLABLE,
	      .doc = "of the record: those of a field"),
	FIELD(struct predict_request, network, FT_STRINGS, .flags = FIELD_NULLABLE,
	      .doc = "of samples: the networks to write"),
	FIELD(struct predict_request, realizations, FT_INT, .dflt = "null", .min = 1, .max = 1e9,
	      .flags = FIELD_NULLABLE, .doc = "of noise"),
	FIELD(struct predict_request, seed, FT_INT, .dflt = "null", .min = 0, .max = 9e15,
	      .flags = FIELD_NULLABLE, .doc = "of the realizations"),
	FIELD_BOOL(struct predict_request, samples, "false",
	           "the realizations in place of their statistics"),
	FIELD_END
};

/* Keys in one line are a map, also without the braces around it. */
int predict_request_read(struct arena *a, const char *given, struct predict_request *out)
{
	struct ynode *root;
	*out = (struct predict_request){ .record = given, .realizations = INT64_MIN,
		.seed = INT64_MIN };
	if (io_exists(given) || (io_ends_in(given, ".dlx") && !strstr(given, ": ")))
		return 0;
	out->record = NULL;
	const char *text = *given == '{' ? given : arena_printf(a, "{%s}", given);
	TRY(ytree_parse(a, "--predict", text, &root));
	if (!root || root->kind != Y_MAP || !ytree_find(root, "grid") == !ytree_find(root, "record"))
		return 0;
	return schema_read(a, root, request_fields, "'--predict'", &root->loc, out) < 0 ? E_USAGE : 0;
}
