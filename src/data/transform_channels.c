/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Channels of the input: how steps find them by name or number, and the transform `channels`, which
 * keeps some of them in an order of its own. What the chain knows of a channel (its statistics, its
 * name, whether it is the mask) goes with it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/suggest.h"
#include "data/transform_step.h"

#define LISTED 20   /* channel names in a message */

const struct field transform_channels_fields[] = {
	FIELD(struct channels_options, keep, FT_STRINGS, .dflt = "", .flags = FIELD_SHORTHAND,
	      .doc = "names or numbers of the channels that stay, in the order they "
	      "are to have; a mask that "
	             "is not among them masks nothing from here on"),
	FIELD_END
};

/* --- for all steps --- */

static int no_channel(const struct chain_state *p, const char *text, const struct loc *loc)
{
	const char *guess = did_you_mean(text, p->channel_names);
	struct buf names = BUF_INIT;
	int rc;
	for (int64_t c = 0; p->info->input_channels && c < p->g.c && c < LISTED; c++)
		buf_printf(&names, "%s %s", c ? "," : ":", p->channel_names[c]);
	rc = ERR(E_CONFIG, loc, "no %s channel '%s'%s%s%s; there are %lld%s%s",
	         p->of_target ? "target" : "input", text,
	         guess ? " (did you mean '" : "", guess ? guess : "", guess ? "'?)" : "",
	         (long long)p->g.c, names.data, names.len && p->g.c > LISTED ? ", ..." : "");
	buf_release(&names);
	return rc;
}

/* The channel with the name or number in text; or an error at loc. */
static int find_channel(const struct chain_state *p, const char *text, const struct loc *loc)
{
	char *end;
	long long v;
	for (int c = 0; c < p->g.c; c++)
		if (strcmp(p->channel_names[c], text) == 0)
			return c;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (*text && !*end && errno == 0 && v >= 0 && v < p->g.c)
		return (int)v;
	return no_channel(p, text, loc);
}

int step_find_mask(const struct chain_state *p, const struct step *s, const char *text, int *mask)
{
	*mask = -1;
	if (!text)
		return 0;
	if (strcmp(text, "auto") == 0)
		*mask = p->mask;
	else
		TRY(*mask = find_channel(p, text, &s->loc));
	return 0;
}

void step_begin_values(struct chain_state *p, struct step *s, int mask)
{
	s->mask = mask;
	s->centre = ARENA_ARRAY(p->a, float, p->g.c);
	s->scale = ARENA_ARRAY(p->a, float, p->g.c);
	s->active = ARENA_ARRAY(p->a, bool, p->g.c);
	for (int64_t c = 0; c < p->g.c; c++)
		s->scale[c] = 1;
}

int step_choose_channels(const struct chain_state *p, struct step *s, const struct strings *names)
{
	int n = 0, rc = 0;
	if (names->n == 0 && names->loc)               /* a list that is there and empty */
		return ERR(E_CONFIG, &s->loc, "'channels' names no channel; without it they are all%s",
		           p->of_target ? "" : " but the mask");
	for (int64_t c = 0; names->n == 0 && c < p->g.c; c++)
		s->active[c] = c != s->mask;
	for (int i = 0; i < names->n; i++) {
		const struct loc *loc = names->loc ? &names->loc[i] : &s->loc;
		const int c = find_channel(p, names->v[i], loc);

		if (c < 0)
			rc = c;
		else if (c == s->mask)
			rc = ERR(E_CONFIG, loc, "channel '%s' is the mask", names->v[i]);
		else
			s->active[c] = true;
	}
	for (int64_t c = 0; c < p->g.c; c++)
		n += s->active[c];
	return rc < 0 ? rc : n;
}

void step_lose_moments(struct chain_state *p, int64_t c, const char *transform)
{
	p->stats[c].mean = p->stats[c].std = NAN;
	p->lost_after[c] = transform;
}

/* --- channels --- */

static bool is_below_zero(const char *text)
{
	return text[0] == '-' && text[1 + strspn(text + 1, "0123456789")] == 0;
}

int channels_check(const void *options, const struct loc *loc)
{
	const struct strings *keep = &((const struct channels_options *)options)->keep;
	int rc = keep->n ? 0 : ERR(E_CONFIG, loc, "'keep' names no channel");
	for (int i = 0; i < keep->n; i++)
		if (is_below_zero(keep->v[i]))
			rc = ERR(E_CONFIG, keep->loc ? &keep->loc[i] : loc,
			         "channels count from 0; there is no '%s'", keep->v[i]);
	return rc;
}

/* Writes the channels to keep to kept; every channel that does not exist or is listed twice is
 * reported. */
static int choose_kept(const struct chain_state *p, const struct step *s,
                       const struct strings *keep, int64_t *kept)
{
	int rc = 0;
	for (int i = 0; i < keep->n; i++) {
		const struct loc *loc = keep->loc ? &keep->loc[i] : &s->loc;
		const int c = find_channel(p, keep->v[i], loc);

		kept[i] = c;
		rc = c < 0 ? c : rc;
		for (int j = 0; j < i && c >= 0; j++)
			if (kept[j] == c)
				rc = ERR(E_CONFIG, loc, "channel '%s' is named twice", keep->v[i]);
	}
	return rc;
}

int channels_plan(struct chain_state *p, struct step *s)
{
	const struct channels_options *o = s->options;
	const int n = o->keep.n, mask = p->mask;
	int64_t *kept = ARENA_ARRAY(p->a, int64_t, n + 1);
	struct channel_stats *stats = ARENA_ARRAY(p->a, struct channel_stats, n + 1);
	const char **lost_after = ARENA_ARRAY(p->a, const char *, n + 1);
	const char **names = ARENA_ARRAY(p->a, const char *, n + 1);
	TRY(channels_check(o, &s->loc));
	TRY(choose_kept(p, s, &o->keep, kept));
	p->mask = -1;
	for (int i = 0; i < n; i++) {
		stats[i] = p->stats[kept[i]];
		lost_after[i] = p->lost_after[kept[i]];
		names[i] = p->channel_names[kept[i]];
		if (kept[i] == mask)
			p->mask = i;
	}
	s->kept = kept;
	p->stats = stats;
	p->lost_after = lost_after;
	p->channel_names = names;
	p->g.c = n;
	return 0;
}

int channels_run(const struct step *s, struct frame *f)
{
	const struct geometry *g = &s->after;
	const size_t bytes = (size_t)(g->d[0] * g->d[1] * g->d[2]) * f->size;
	const char *x = f->x;
	char *out = f->spare_x;
	for (int64_t c = 0; c < g->c; c++)
		memcpy(out + (size_t)c * bytes, x + (size_t)s->kept[c] * bytes, bytes);
	frame_swap_input(f);
	return 0;
}
