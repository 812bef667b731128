/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values that a row accepts, in words: type, range or choices, null, default. */
#include "yaml/help_type.h"

#include <string.h>

#include "yaml/schema_value.h"

static const char *const names[] = {
	[FT_BOOL] = "true or false",
	[FT_INT] = "integer",
	[FT_FLOAT] = "number",
	[FT_STRING] = "string",
	[FT_PATH] = "path",
	[FT_INTS] = "integer or list",
	[FT_FLOATS] = "number or list",
	[FT_STRINGS] = "string or list",
	[FT_PATHS] = "path or list",
	[FT_BYTES] = "size (512KiB, 2GB)",
	[FT_SECONDS] = "time (90s, 10m, {hours: 2})",
	[FT_SECTION] = "section",
	[FT_NODE] = "value",
};

static void add_limits(struct buf *out, const struct field *f)
{
	struct arena *a = arena_new();
	buf_puts(out, value_range(a, f));
	arena_free(a);
}

static bool has_short_form(const struct field *f)
{
	while (f->type != FT_END && !(f->flags & FIELD_SHORTHAND))
		f++;
	return f->type != FT_END;
}

bool help_lists(const struct field *f, bool named)
{
	return !named || (f->type == FT_NODE && f->variants && f->variants->key);
}

void help_heading(struct buf *out, const struct field *f, const struct variant *v)
{
	if (f->type == FT_VARIANT || (f->variants && f->variants->key))
		buf_printf(out, "%s: %s", variant_key(f->variants), v->name);
	else
		buf_printf(out, "- %s", v->name);
}

void help_type(struct buf *out, const struct field *f)
{
	if (f->type == FT_ENUM) {
		buf_puts(out, "one of");
		for (int i = 0; f->choices[i]; i++)
			buf_printf(out, "%s %s", i ? "," : "", f->choices[i]);
	} else if (f->type == FT_VARIANT) {
		buf_puts(out, variant_key(f->variants));
		for (int i = 0; f->variants[i].name; i++)
			buf_printf(out, "%s %s", i ? "," : "", f->variants[i].name);
	} else if (f->type == FT_SECTIONS) {
		buf_puts(out, has_short_form(f->variants->fields) ? "value, list of them or list of maps"
		                                                  : "list of maps");
	} else if (f->type == FT_NODE && f->sub) {
		buf_puts(out, "map of names");
	} else if (f->type == FT_NODE && (f->entries || (f->variants && !f->variants->key))) {
		buf_puts(out, "list of entries");
	} else {
		buf_puts(out, names[f->type]);
		add_limits(out, f);
	}
	if (f->flags & FIELD_NULLABLE)
		buf_puts(out, " or null");
	if (f->dflt && !*f->dflt)
		buf_puts(out, " (required)");
	else if (f->dflt)
		buf_printf(out, " (default %s)", f->dflt);
	if (f->flags & FIELD_SHORTHAND)
		buf_puts(out, " (the short form sets it)");
}
