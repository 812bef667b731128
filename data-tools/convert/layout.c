/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The axis of channels is chosen by the first of these rules that applies: without it, the spatial
 * axes equal those of the other side (input or target); its name; it is the first or last axis and
 * has at most four elements, like the channels of pictures. */
#include "data-tools/convert/layout.h"

#include <string.h>

#include "data-tools/convert/side/axis_role.h"
#include "base/err.h"

const char *const layout_names[] = { "auto", "stack", "first", "last", "none", NULL };

#define FEW 4               /* channels of a picture */
#define READINGS 3

static const enum layout readings[READINGS] = { LAYOUT_FIRST, LAYOUT_LAST, LAYOUT_STACK };

/* The axes besides channels of a sample of c in layout l, which is none of auto. */
static struct shape places_in(const struct column *c, enum layout l)
{
	const int nd = c->sample.nd;
	if (l == LAYOUT_FIRST)
		return shape_of(nd - 1, c->sample.d + 1);
	return shape_of(l == LAYOUT_LAST ? nd - 1 : nd, c->sample.d);
}

static int64_t channels_of(const struct column *c, enum layout l)
{
	return l == LAYOUT_FIRST ? c->sample.d[0] : l == LAYOUT_LAST ? c->sample.d[c->sample.nd - 1] :
	       1;
}

void layout_reading(const struct column *c, enum layout l, struct buf *out)
{
	const struct shape places = places_in(c, l);
	const int64_t n = channels_of(c, l);
	buf_printf(out, "%lld channel%s", (long long)n, n == 1 ? "" : "s");
	if (l == LAYOUT_FIRST || l == LAYOUT_LAST)
		buf_printf(out, " (the %s axis)", l == LAYOUT_FIRST ? "first" : "last");
	for (int i = 0; i < places.nd; i++)
		buf_printf(out, "%s%lld", i ? " x " : " of ", (long long)places.d[i]);
}

/* --- the other side --- */

static bool ends_alike(const struct shape *places, const struct shape *t, int skip, int drop)
{
	const struct shape part = shape_of(t->nd - skip - drop, t->d + skip);
	return part.nd > 0 && shape_equal(places, &part);
}

/* Whether samples of the other side have these spatial axes, apart from a possible axis of
 * channels. */
static bool fits_other(const struct shape *places, const struct layout_hints *h)
{
	const struct shape *t = &h->other;
	if (places->nd == 0 || t->nd == 0)
		return false;
	if (ends_alike(places, t, 0, 0) || (t->d[0] == 1 && ends_alike(places, t, 1, 0)))
		return true;
	return !h->other_is_places && (ends_alike(places, t, 1, 0) || ends_alike(places, t, 0, 1));
}

static int by_other(const struct column *c, const struct layout_hints *h, enum layout *out)
{
	int n = 0;
	for (int i = 0; i < READINGS; i++) {
		const struct shape places = places_in(c, readings[i]);

		if (places.nd > 3 || !fits_other(&places, h))
			continue;
		*out = readings[i];
		n++;
	}
	return n;
}

/* --- names --- */

static bool is_channels(const struct column *c, int axis)
{
	return c->kind[axis] == 'C';
}

static bool is_time(const struct column *c, int axis)
{
	return c->kind[axis] == 'T';
}

static bool is_place(const struct column *c, int axis)
{
	return axis_is_place(c->kind[axis]);
}

static bool by_names(const struct column *c, enum layout *out)
{
	const int nd = c->sample.nd;
	bool places = nd <= 3;
	for (int i = 0; i < nd; i++)
		places &= is_place(c, i);
	if (is_channels(c, 0) != is_channels(c, nd - 1))
		*out = is_channels(c, 0) ? LAYOUT_FIRST : LAYOUT_LAST;
	else if (places)
		*out = LAYOUT_STACK;
	else
		return false;
	return true;
}

/* --- what is left open --- */

static int ask(const struct column *c, const struct layout_hints *h)
{
	struct buf text = BUF_INIT;
	char shape[SHAPE_TEXT];
	int rc;
	if (is_time(c, 0) && c->file_a_sample)
		buf_printf(&text, "%lld samples of each file (--concatenate), ", (long long)c->sample.d[0]);
	for (int i = 0; i < READINGS; i++) {
		if (places_in(c, readings[i]).nd > 3)
			continue;
		layout_reading(c, readings[i], &text);
		buf_printf(&text, " (--%s-layout %s)%s", h->role, layout_names[readings[i]],
		           i + 1 < READINGS ? ", " : "");
	}
	while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == ','))
		text.data[--text.len] = '\0';
	rc = ERR(E_DATA, NULL, "'%s', '%s': a sample is %s, and nothing tells which axis is channels; "
	         "it can be read as %s", c->file[0], c->name, shape_text(&c->sample, shape), text.data);
	buf_release(&text);
	return rc;
}

bool layout_may_be_series(const struct column *c, const struct layout_hints *h)
{
	enum layout l;
	if (c->sample.nd != 2 || !h->alone || c->source->format->picture || by_names(c, &l))
		return false;
	return by_other(c, h, &l) != 1 || l != LAYOUT_STACK;
}

int layout_find(const struct column *c, const struct layout_hints *h, enum layout *out,
                const char **why)
{
	const int nd = c->sample.nd;
	*why = NULL;
	if (nd < 3) {
		*out = nd == 1 && h->alone ? LAYOUT_FIRST : LAYOUT_STACK;
		if (nd == 2 && h->alone && by_names(c, out) && *out != LAYOUT_STACK)
			*why = "by the names of the axes";
		return 0;
	}
	const bool first = c->sample.d[0] <= FEW, last = c->sample.d[nd - 1] <= FEW;
	if (by_other(c, h, out) == 1)
		*why = strcmp(h->role, "input") == 0 ? "by the target's shape" : "by the input's shape";
	else if (is_time(c, 0))
		return ask(c, h);
	else if (by_names(c, out))
		*why = "by the names of the axes";
	else if (first != last)
		*why = "by its length";
	else
		return ask(c, h);
	if (strcmp(*why, "by its length") == 0)
		*out = first ? LAYOUT_FIRST : LAYOUT_LAST;
	return 0;
}
