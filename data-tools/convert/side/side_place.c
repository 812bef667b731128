/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the channels of each variable and checks that the variables fit together. */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/shown.h"
#include "data-tools/convert/side/side_state.h"

/* Refuses a picture with colour channels as a map of classes, which has one number for each
 * point. */
static int check_labels(const struct side *s, const struct column *c)
{
	const int last = c->sample.nd - 1;
	if (!c->source->format->picture || last < 2 || c->kind[last] != 'C')
		return 0;
	return ERR(E_DATA, NULL, "'%s' has %lld channels, as colours have, but a map of classes has "
	           "one number a point: save it as grey, or with a palette, whose numbers are the "
	           "classes; or --target-layout last if each channel is a map of its own", c->file[0],
	           (long long)c->sample.d[last]);
}

static int find_layout(const struct side *s, const struct column *c, enum layout *out)
{
	struct buf text = BUF_INIT;
	const char *why;
	*out = s->o->like ? s->alike : s->o->layout;
	if (*out != LAYOUT_AUTO)
		return 0;
	if (s->o->labels && s->n == 1) {
		*out = LAYOUT_NONE;
		return check_labels(s, c);
	}
	TRY(layout_find(c, &s->hints, out, &why));
	if (s->o->read.quiet || (!why && !layout_may_be_series(c, &s->hints)))
		return 0;
	layout_reading(c, *out, &text);
	if (why)
		note("%s '%s': %s, %s", s->o->read.role, shown(c->name), text.data, why);
	else
		note("%s '%s': %lld sample%s of %s; '--%s-layout first' if the %s axis is channels",
		     s->o->read.role, shown(c->name), (long long)c->samples, c->samples == 1 ? "" : "s",
		     text.data, s->o->read.role, c->file_a_sample ? "first" : "second");
	buf_release(&text);
	return 0;
}

static int column_fault(const struct side *s, const struct column *c, const char *what)
{
	char text[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "'%s', '%s': %s; a sample is %s (--%s-layout)", c->file[0], c->name,
	           what, shape_text(&c->sample, text), s->o->read.role);
}

/* Whether labels of this shape have an axis of one channel, as (n, 1) or (n, 1, H, W) have: not
 * where they have as many axes as the input's places, the first of which has one extent then. */
static bool has_one_channel(const struct side *s, const struct shape *sample)
{
	const int nd = sample->nd, places = s->hints.other.nd;
	return nd > 0 && sample->d[0] == 1 &&
	       (nd == 1 || nd == places + 1 || (nd >= 3 && nd != places));
}

int64_t side_split_shape(const struct side *s, enum layout l, const struct shape *sample,
                         struct shape *rest)
{
	const int nd = sample->nd;
	*rest = *sample;
	if (l == LAYOUT_FIRST) {
		*rest = shape_of(nd - 1, sample->d + 1);
		return sample->d[0];
	}
	if (l == LAYOUT_LAST) {
		*rest = shape_of(nd - 1, sample->d);
		return sample->d[nd - 1];
	}
	if (l == LAYOUT_NONE && has_one_channel(s, sample))
		*rest = shape_of(nd - 1, sample->d + 1);
	return 1;
}

/* Splits the sample's axes into channels and the rest. */
static int place_column(struct side *s, struct column *c, struct shape *rest)
{
	const int nd = c->sample.nd;
	enum layout l;
	TRY(find_layout(s, c, &l));
	s->placed = c == s->column ? l : s->placed;
	if ((l == LAYOUT_FIRST || l == LAYOUT_LAST) && nd < 1)
		return column_fault(s, c, "not enough axes for channels");
	if (l == LAYOUT_NONE && s->n > 1)
		return column_fault(s, c, "several variables need a channel axis");
	c->channels = side_split_shape(s, l, &c->sample, rest);
	c->transpose = l == LAYOUT_LAST;
	c->layout = (int)l;
	if (l != LAYOUT_NONE && rest->nd > 3)
		return column_fault(s, c, "more than three axes besides channels");
	c->channel = s->channels;
	s->channels += c->channels;
	return 0;
}

struct column *side_fullest(const struct side *s)
{
	struct column *best = &s->column[0];
	for (int i = 1; i < s->n; i++)
		if (s->column[i].sample.nd > best->sample.nd ||
		    (s->column[i].sample.nd == best->sample.nd && s->column[i].samples > best->samples))
			best = &s->column[i];
	return best;
}

/* A field without the others' axis of samples, or with one sample, stands for each of theirs. */
static void repeat_static(struct side *s)
{
	const struct column *like = side_fullest(s);
	for (int i = 0; i < s->n; i++) {
		struct column *c = &s->column[i];
		const bool one = c->samples == 1 && like->samples > 1 &&
		                 shape_equal(&c->sample, &like->sample);

		if (c == like || (c->file_a_sample && c->nfiles > 1) ||
		    (!one && !shape_equal(&c->shape, &like->sample)))
			continue;
		column_repeat(c, like->samples);
		if (!s->o->read.quiet)
			note("%s '%s' is the same in each of %lld samples", s->o->read.role, shown(c->name),
			     (long long)like->samples);
	}
}

static int settle_alike(struct side *s)
{
	TRY(like_settle(s->o->like, s->column, s->n, side_fullest(s), s->o->layout, &s->alike));
	like_sort(s->o->like, s->column, s->n);
	return 0;
}

struct shape side_with_channels(const struct side *s, const struct shape *places)
{
	struct shape out = *places;
	if (s->placed == LAYOUT_NONE)
		return out;
	out.nd++;
	out.d[0] = s->channels;
	for (int i = 0; i < places->nd; i++)
		out.d[i + 1] = places->d[i];
	return out;
}

static int place_columns(struct side *s)
{
	if (s->o->like)
		TRY(settle_alike(s));
	repeat_static(s);
	for (int i = 0; i < s->n; i++) {
		struct column *c = &s->column[i];
		char got[SHAPE_TEXT], want[SHAPE_TEXT];
		struct shape rest;

		TRY(place_column(s, c, &rest));
		if (i == 0)
			s->spatial = rest;
		if (!shape_equal(&rest, &s->spatial))
			return ERR(E_DATA, NULL, "shapes disagree: a sample of '%s' is %s, of '%s' %s",
			           s->column[0].name, shape_text(&s->spatial, want), c->name,
			           shape_text(&rest, got));
		if (c->samples != s->column[0].samples)
			return ERR(E_DATA, NULL, "'%s' has %lld samples, '%s' has %lld", s->column[0].name,
			           (long long)s->column[0].samples, c->name, (long long)c->samples);
	}
	s->shape = side_with_channels(s, &s->spatial);
	return 0;
}

/* A record keeps a name for each channel. A damaged file can have any number of them. */
#define MAX_CHANNELS (1 << 20)

static int check_channels(const struct side *s)
{
	if (s->channels <= MAX_CHANNELS)
		return 0;
	return ERR(E_DATA,
	           NULL, "'%s' and what follows it have %lld channels, more than the %d of a record",
	           s->column[0].name, (long long)s->channels, MAX_CHANNELS);
}

/* Of the variable in the file that is open. */
static const char *units_of(struct arena *a, const struct column *c)
{
	struct axis_attributes all = { 0 };
	if (c->source && c->source->format->attributes)
		c->source->format->attributes(c->source, NULL, a, &all);
	for (int i = 0; i < all.n; i++)
		if (all.v[i].text && strcmp(all.v[i].name, "units") == 0)
			return all.v[i].text;
	return "";
}

static void name_channels(struct side *s)
{
	int64_t k = 0;
	s->channel_names = ARENA_ARRAY(s->a, const char *, s->channels + 1);
	s->channel_units = ARENA_ARRAY(s->a, const char *, s->channels + 1);
	for (int i = 0; i < s->n; i++) {
		const struct column *c = &s->column[i];
		const char *units = units_of(s->a, c);

		for (int64_t j = 0; j < c->channels; j++, k++) {
			s->channel_units[k] = units;
			s->channel_names[k] = c->channels == 1 ? c->name
			                      : arena_printf(s->a, "%s[%lld]", c->name, (long long)j);
		}
	}
}

int side_place(struct side *s, const struct shape *other, bool other_is_places)
{
	s->hints = (struct layout_hints){ s->o->read.role, s->n == 1, *other, other_is_places };
	TRY(place_columns(s));
	TRY(check_channels(s));
	name_channels(s);
	return 0;
}

void side_reading(const struct side *s, struct buf *out)
{
	const struct column *c = s->column;
	char text[SHAPE_TEXT];
	if (s->n == 1 && c->sample.nd < 3 && c->file_a_sample && s->placed == LAYOUT_STACK)
		return;
	if (!c->file_a_sample)
		buf_puts(out, "the first axis counts samples");
	if (s->placed == LAYOUT_FIRST || s->placed == LAYOUT_LAST)
		buf_printf(out, "%s%lld channel%s (the %s axis)%s%s", out->len ? ", " : "",
		           (long long)c->channels, c->channels == 1 ? "" : "s",
		           s->placed == LAYOUT_LAST ? "last" : c->file_a_sample ? "first" : "second",
		           s->spatial.nd ? " of " : "", s->spatial.nd ? shape_text(&s->spatial, text) : "");
	for (int i = 0; s->n > 1 && i < s->n; i++) {
		const struct like *l = s->o->like;
		const char *as = l && l->names && l->channels == s->n ? l->names[i] : c[i].name;
		const bool other = strcmp(as, c[i].name) != 0;

		buf_printf(out, "%s%s%s%s", i ? ", " : out->len ? "; channels: " : "channels: ", c[i].name,
		           other ? " as " : "", other ? as : "");
	}
}
