/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file has its channels first, last or as variables, and counts samples by its first axis or is
 * one sample: of these six readings those count that give as many channels and axes as the network
 * takes. Of several the names of axes choose, then the extents that the network was trained with;
 * those that come to the same are one. */
#include "data-tools/convert/like.h"

#include <string.h>

#include "data-tools/convert/side/axis_role.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "data/axes_agree.h"
#include "data/description.h"
#include "data/record.h"

/* --- what is wanted --- */

static int take(struct like *out, struct arena *a, const struct record_info *i)
{
	const char **names = NULL;
	out->channels = i->input.shape.d[0];
	out->places = shape_of(i->input.shape.nd - 1, i->input.shape.d + 1);
	out->dtype = i->input.dtype;
	out->mask = i->mask >= 0 && i->mask == out->channels - 1;
	out->channels -= out->mask;
	if (i->input.channels) {
		names = ARENA_ARRAY(a, const char *, out->channels + 1);
		for (int64_t k = 0; k < out->channels; k++)
			names[k] = arena_strdup(a, i->input.channels[k]);
	}
	out->names = names;
	const struct axes places = axes_of_places(a, &i->axes);
	out->places_of = axes_copy(a, &places);
	return 0;
}

/* Of the records of a pattern, which are of one kind, the first. */
static int first_of(struct arena *a, const char *pattern, const char **out)
{
	struct io_paths found;
	int rc = io_expand(&found, pattern);
	if (rc == 0)
		*out = arena_strdup(a, found.v[0]);
	io_paths_release(&found);
	return rc;
}

int like_read(struct like *out, struct arena *a, const char *path)
{
	struct record_info i;
	struct buf text = BUF_INIT;
	struct record *r;
	int rc;
	TRY(first_of(a, path, &path));
	if (!io_ends_in(path, ".json")) {
		TRY(record_open(&r, path));
		rc = take(out, a, record_info(r));
		out->name = path;
		record_free(r);
		return rc;
	}
	rc = io_read_text(path, &text);
	if (rc == 0)
		rc = description_read(a, path, 0, text.data, text.len, &i);
	if (rc == 0)
		rc = take(out, a, &i);
	out->name = "the training set";
	out->compared = true;
	buf_release(&text);
	return rc;
}

int like_check_axes(const struct like *l, const struct axes *axes, const char *input,
                    const char *record, bool quiet)
{
	struct buf why = BUF_INIT;
	int rc = 0;
	if (l->compared)
		return 0;
	const enum axes_agreement agree = axes_agree(&l->places_of, axes, &why);
	if (agree == AXES_TURNED)
		rc = ERR(E_DATA, NULL, "'%s' does not fit '%s' (--like): %s; turn the values and the "
		         "coordinates before they are converted", input, record, why.data);
	else if (agree != AXES_AGREE && !quiet)
		note("'%s' has other places than '%s': %s", input, record, why.data);
	buf_release(&why);
	return rc;
}

int like_variables(const struct like *l, struct arena *a, const char ***out)
{
	const char **v = ARENA_ARRAY(a, const char *, l->channels + 1);
	int n = 0;
	for (int64_t k = 0; l->names && k < l->channels; k++) {
		const char *name = l->names[k], *bracket = strrchr(name, '[');
		const bool part = bracket && bracket > name && name[strlen(name) - 1] == ']';
		const char *base = part ? arena_printf(a, "%.*s", (int)(bracket - name), name) : name;

		if (n == 0 || strcmp(v[n - 1], base) != 0)
			v[n++] = base;
	}
	*out = v;
	return n;
}

bool like_sort(const struct like *l, struct column *c, int n)
{
	if (!l->names || n != l->channels)
		return false;
	for (int k = 0; k < n; k++) {
		int at = 0;

		while (at < n && strcmp(c[at].name, l->names[k]) != 0)
			at++;
		if (at == n)
			return false;
	}
	for (int k = 0; k < n; k++)
		for (int at = k; at < n; at++)
			if (strcmp(c[at].name, l->names[k]) == 0 && at != k) {
				const struct column t = c[at];

				c[at] = c[k];
				c[k] = t;
			}
	return true;
}

/* --- readings --- */

struct reading {
	bool samples;                    /* the first axis counts them */
	enum layout layout;
	int channel;                     /* the file's axis of channels; -1: none */
	int64_t n, channels;
	struct shape places;
};

#define READINGS 6

static struct reading read_as(const struct column *s, int n, bool samples, enum layout layout)
{
	const int nd = s->shape.nd, skip = samples;
	struct reading r = {.samples = samples, .layout = layout, .channel = -1, .n = 1, .channels = n};
	r.n = samples ? s->shape.d[0] : 1;
	if (layout == LAYOUT_FIRST)
		r.channel = skip;
	else if (layout == LAYOUT_LAST)
		r.channel = nd - 1;
	if (r.channel >= 0)
		r.channels = n * s->shape.d[r.channel];
	for (int i = skip; i < nd; i++)
		if (i != r.channel)
			r.places.d[r.places.nd++] = s->shape.d[i];
	return r;
}

/* A picture's height and width are places: pages alone may be samples, or channels. */
static bool is_of_picture(const struct source *s, const struct reading *r)
{
	const int places = s->pages + 2;
	return (!r->samples || s->pages > 0) && (r->channel < s->pages || r->channel >= places);
}

static int find_readings(const struct like *l, const struct column *s, int n, enum layout wanted,
                         struct reading *out)
{
	static const enum layout layouts[] = { LAYOUT_FIRST, LAYOUT_LAST, LAYOUT_STACK };
	int found = 0;
	for (int samples = 0; samples < 2; samples++)
		for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
			const int axes = s->shape.nd - samples - (layouts[k] != LAYOUT_STACK);
			struct reading r;

			if (axes < 0 || axes != l->places.nd || (wanted && layouts[k] != wanted))
				continue;
			r = read_as(s, n, samples, layouts[k]);
			if (r.channels == l->channels && (!s->source->format->picture ||
			                                   is_of_picture(s->source, &r)))
				out[found++] = r;
		}
	return found;
}

/* Whether no axis has a name that contradicts this reading. */
static bool names_agree(const struct column *s, const struct reading *r)
{
	for (int i = 0; i < s->shape.nd; i++) {
		const char role = s->of[0].role[i];

		if (!role)
			continue;
		if (r->samples && i == 0 ? role != 'T' :
		    i == r->channel ? role != 'C' : !axis_is_place(role))
			return false;
	}
	return true;
}

/* Keeps those that are distinguished by something that only some of them have. */
static int keep(struct reading *r, int n, const bool *good)
{
	int kept = 0, all = 0;
	for (int i = 0; i < n; i++)
		all += good[i];
	for (int i = 0; i < n && all; i++)
		if (good[i])
			r[kept++] = r[i];
	return all ? kept : n;
}

/* A table's only axis next to that of samples is both the first and the last. */
static bool same_result(const struct reading *a, const struct reading *b)
{
	return a->n == b->n && shape_equal(&a->places, &b->places) &&
	       (a->channel == b->channel || b->channels == 1);
}

static int choose(const struct like *l, const struct column *s, struct reading *r, int n)
{
	bool good[READINGS], one = true;
	for (int i = 0; i < n; i++)
		good[i] = names_agree(s, &r[i]);
	n = keep(r, n, good);
	for (int i = 0; i < n; i++)
		good[i] = shape_equal(&r[i].places, &l->places);
	n = keep(r, n, good);
	for (int i = 1; i < n; i++)
		one &= same_result(&r[0], &r[i]);
	return one && n > 0 ? 1 : n;
}

/* --- messages --- */

static void wanted_text(const struct like *l, struct buf *out)
{
	buf_printf(out, "%lld channel%s", (long long)l->channels, l->channels == 1 ? "" : "s");
	for (int64_t k = 0; l->names && k < l->channels && k < 8; k++)
		buf_printf(out, "%s%s", k ? ", " : " (", l->names[k]);
	if (l->names)
		buf_puts(out, l->channels > 8 ? ", ...)" : ")");
	for (int i = 0; i < l->places.nd; i++)
		buf_printf(out, "%s%lld", i ? " x " : " of ", (long long)l->places.d[i]);
}

static int refuse(const struct like *l, const struct column *c, int nc, const struct column *s,
                  const struct reading *r, int n)
{
	struct buf text = BUF_INIT;
	char shape[SHAPE_TEXT], places[SHAPE_TEXT];
	int rc;
	wanted_text(l, &text);
	buf_puts(&text, n ? "; it can be read as " : "");
	for (int i = 0; i < n; i++) {
		const char *at = r[i].layout == LAYOUT_STACK ? "" : r[i].layout == LAYOUT_FIRST ?
		                 ", channels first" : ", channels last";

		buf_printf(&text, "%s%lld sample%s of %s%s (--input-layout %s)", i ? ", or as " : "",
		           (long long)r[i].n, r[i].n == 1 ? "" : "s",
		           shape_text(&r[i].places, places), at, layout_names[r[i].layout]);
	}
	rc = ERR(E_DATA, NULL, "'%s'%s%s%s is %s%s; the network takes samples of %s", c->file[0],
	         nc > 1 ? ", '" : "", nc > 1 ? s->name : "", nc > 1 ? "' and others," : "",
	         shape_text(&s->shape, shape), n ? "" : ", which is none that fits", text.data);
	buf_release(&text);
	return rc;
}

int like_settle(const struct like *l, struct column *c, int n, const struct column *s,
                enum layout wanted, enum layout *out)
{
	struct reading r[READINGS];
	int found = find_readings(l, s, n, wanted, r);
	found = choose(l, s, r, found);
	if (found != 1)
		return refuse(l, c, n, s, r, found);
	for (int i = 0; i < n; i++)
		TRY(column_read_as(&c[i], !r[0].samples));
	*out = r[0].layout;
	return 0;
}
