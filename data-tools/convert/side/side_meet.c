/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matches two columns (two inputs, or input and target): pairs their files and samples, and
 * compares the order of their axes. */
#include <math.h>
#include <string.h>

#include "data-tools/convert/side/axis_meet.h"
#include "data-tools/convert/side/axis_role.h"
#include "base/err.h"
#include "base/log.h"
#include "base/shown.h"
#include "data/axes_match.h"
#include "data-tools/convert/side/pair.h"
#include "data-tools/convert/side/place_meet.h"
#include "data-tools/convert/side/side_state.h"

/* A column that meets another, and those before it that are cut when it is. */
struct meeting {
	struct column *ref, *c;
	struct column **before;        /* that have met `ref`, which is one of them */
	int nbefore;
	struct arena *a;
	struct buf *said;
};

static bool by_coordinates(const struct meeting *m)
{
	return m->c->o->match == MATCH_COORDINATES;
}

static void pick_before(const struct meeting *m, const int64_t *sample, int64_t n)
{
	for (int k = 0; k < m->nbefore; k++)
		if (!m->before[k]->repeated)
			column_pick(m->before[k], sample, n);
}

/* --- files --- */

static const char *file_of(const struct column *c, int64_t i)
{
	return c->file[column_file_of(c, i)];
}

/* The first and the last pair, so that a person sees what belongs together. */
static void say_pairs(const struct meeting *m, const char *how)
{
	const int64_t last = m->c->samples - 1;
	struct buf text = BUF_INIT;
	if (m->c->o->quiet || m->c->samples < 1)
		return;
	buf_printf(&text, "'%s' with '%s'", shown(file_of(m->ref, 0)), shown(file_of(m->c, 0)));
	if (last > 0)
		buf_printf(&text, " to '%s' with '%s'", shown(file_of(m->ref, last)),
		           shown(file_of(m->c, last)));
	note("%lld pairs of files, %s: %s", (long long)m->c->samples, how, text.data);
	buf_release(&text);
}

static int no_partner(const struct meeting *m, const struct pairing *p)
{
	int64_t i = 0;
	while (i < m->ref->samples && p->partner[i] >= 0)
		i++;
	if (i == m->ref->samples)
		return ERR(E_DATA, NULL, "'%s' and what follows: the %s has %lld samples, the %s %lld; "
		           "%lld of them belong together %s", m->c->file[0], m->ref->o->role, (long long)i,
		           m->c->o->role, (long long)m->c->samples, (long long)p->found,
		           pair_by_text[p->by]);
	return ERR(E_DATA, NULL, "'%s' has no partner among '%s' to '%s', although %lld of %lld files "
	           "have one, %s; --match coordinates leaves out what has none, --match index goes by "
	           "the order",
	           file_of(m->ref, i), m->c->file[0], m->c->file[m->c->nfiles - 1], (long long)p->found,
	           (long long)m->ref->samples, pair_by_text[p->by]);
}

static int pair_files(const struct meeting *m)
{
	const int64_t nx = m->ref->samples, ny = m->c->samples;
	const char **x = ARENA_ARRAY(m->a, const char *, nx + 1),
	           **y = ARENA_ARRAY(m->a, const char *, ny + 1);
	int64_t *kept = ARENA_ARRAY(m->a, int64_t, nx + 1),
	        *partner = ARENA_ARRAY(m->a, int64_t, nx + 1), n = 0;
	for (int64_t i = 0; i < nx; i++)
		x[i] = file_of(m->ref, i);
	for (int64_t i = 0; i < ny; i++)
		y[i] = file_of(m->c, i);
	const struct pairing p = pair_names(m->a, x, nx, y, ny);
	const bool complete = p.found == nx && p.found == ny;
	if (p.by == PAIR_ORDER && !complete)
		return 0;                      /* the counts are compared later */
	if (!complete && !by_coordinates(m))
		return no_partner(m, &p);
	for (int64_t i = 0; i < nx; i++)
		if (p.partner[i] >= 0) {
			kept[n] = i;
			partner[n++] = p.partner[i];
		}
	if (!complete) {
		pick_before(m, kept, n);
		note("%lld of %lld and %lld files have no partner and are left out", (long long)(nx - n),
		     (long long)nx, (long long)(ny - n));
	}
	column_pick(m->c, partner, n);
	say_pairs(m, pair_by_text[p.by]);
	return 0;
}

/* --- the axis of samples --- */

/* The coordinates of all samples, in the units of the first; false: some are not known. */
static bool sample_axis(const struct meeting *m, const struct column *c, struct axis *out,
                        char *role)
{
	const bool file = c->file_a_sample;
	double *v;
	int at = 0;
	if (c->repeated || !column_is_known(c) || (file && c->nfiles < 2))
		return false;
	while (file && at < c->of[0].axes.n && c->of[0].role[at] != 'T')
		at++;
	if (at == c->of[0].axes.n || !c->of[0].axes.axis[at].values)
		return false;
	*out = c->of[0].axes.axis[at];
	*role = c->of[0].role[at];
	out->values = v = ARENA_ARRAY(m->a, double, c->samples + 1);
	out->n = c->samples;
	for (int64_t i = 0; i < c->samples; i++) {
		const int f = column_file_of(c, i);
		const struct axis *x = at < c->of[f].axes.n ? &c->of[f].axes.axis[at] : NULL;
		const double *values = x && (!file || x->n == 1) ?
		                       axis_in_units_of(m->a, &c->of[0].axes.axis[at], x) : NULL;

		if (!values)
			return false;
		v[i] = values[file ? 0 : column_row(c, i)];
	}
	return true;
}

/* "6 hours" */
static void put_duration(struct buf *out, double seconds)
{
	static const struct { double seconds; const char *name; } units[] = {
		{ 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	size_t k = 0;
	while (k < 3 && fabs(remainder(seconds, units[k].seconds)) > 1e-3 * units[k].seconds)
		k++;
	const double n = seconds / units[k].seconds;
	buf_printf(out, "%.6g %s%s", n, units[k].name, fabs(n - 1) < 1e-9 ? "" : "s");
}

/* What comes before or after by one time for all samples is a forecast, for instance. */
static void say_shift(const struct meeting *m, const struct axis *want, double shift)
{
	const char *units = axis_text(want, "units");
	struct buf text = BUF_INIT, got = BUF_INIT, ref = BUF_INIT;
	if (m->c->o == m->ref->o) {
		buf_printf(&got, "%s '%s'", m->c->o->role, shown(m->c->name));
		buf_printf(&ref, "'%s'", shown(m->ref->name));
	} else {
		buf_printf(&got, "the %s", m->c->o->role);
		buf_printf(&ref, "the %s", m->ref->o->role);
	}
	buf_printf(&text, "%s is ", got.data);
	if (units && strstr(units, " since ")) {
		put_duration(&text, fabs(shift));
		buf_printf(&text, " %s %s", shift > 0 ? "after" : "before", ref.data);
	} else {
		buf_printf(&text, "%g%s%s from %s", shift, units ? " " : "", units ? units : "", ref.data);
	}
	buf_release(&got);
	buf_release(&ref);
	warn("%s, by '%s' of '%s' and '%s': samples are paired by their order (--match coordinates "
	     "joins those of the same %s)", text.data, want->name, shown(m->ref->file[0]),
		shown(m->c->file[0]),
	     want->name);
	buf_printf(m->said, "%s%s", m->said->len ? "; " : "", text.data);
	buf_release(&text);
}

static int samples_differ(const struct meeting *m, const struct axis *want, const struct axis *got,
                          const char *why)
{
	struct buf text = BUF_INIT;
	int rc;
	axis_describe(want, &text);
	buf_printf(&text, " in '%s', but ", m->ref->file[0]);
	axis_describe(got, &text);
	rc = ERR(E_DATA, NULL, "%s: %s in '%s'; --match coordinates joins what both have, --match "
	         "index goes by the order", why, text.data, m->c->file[0]);
	buf_release(&text);
	return rc;
}

static int join_samples(const struct meeting *m, const struct axis *want, const struct axis *got,
                        char role)
{
	const int64_t *x, *y, n = axis_join(m->a, want, got, role, &x, &y);
	if (n < 0)
		return samples_differ(m, want, got, "units or calendars that cannot be compared");
	if (n == 0)
		return samples_differ(m, want, got, "no sample has coordinates that both have");
	pick_before(m, x, n);
	column_pick(m->c, y, n);
	if (n < want->n || n < got->n)
		note("--match coordinates: %lld samples are in both; %lld of '%s' and %lld of '%s' are "
		     "left out",
		     (long long)n, (long long)(want->n - n), shown(m->ref->file[0]),
			(long long)(got->n - n),
		     shown(m->c->file[0]));
	return 0;
}

static int meet_samples(const struct meeting *m)
{
	struct axis want, got;
	char role, other;
	struct axis_meeting r;
	if (!sample_axis(m, m->ref, &want, &role) || !sample_axis(m, m->c, &got, &other))
		return 0;
	if (role != other || (role != 'T' && strcmp(want.name, got.name) != 0))
		return 0;
	if (by_coordinates(m))
		return join_samples(m, &want, &got, role);
	r = axis_meet(m->a, &want, &got, role);
	if (r.order == ORDER_SHIFTED) {
		say_shift(m, &want, r.shift);
		return 0;
	}
	if (r.element) {
		column_pick(m->c, r.element, got.n);
		if (!m->c->o->quiet)
			note("%s '%s' has its samples in another order of '%s', and is read in that of '%s'",
			     m->c->o->role, shown(m->c->name), got.name, shown(m->ref->file[0]));
	}
	if (r.order == ORDER_UNITS)
		return samples_differ(m, &want, &got, "units or calendars that cannot be compared");
	return r.order == ORDER_OTHER ? samples_differ(m, &want, &got, "the samples differ") : 0;
}

/* --- axes of places --- */

/* Of each axis of c's file, that of the reference's file which is the same; -1: none. */
static void find_partners(const struct meeting *m, int f, int r, int *partner)
{
	const struct column_file *want = &m->ref->of[r], *got = &m->c->of[f];
	unsigned used = 0;
	for (int i = 0; i < got->axes.n; i++) {
		const char *name = got->axes.axis[i].name;

		partner[i] = -1;
		for (int k = 0; k < want->axes.n && name; k++)
			if (!(used >> k & 1) && want->axes.axis[k].name &&
			    strcmp(name, want->axes.axis[k].name) == 0)
				partner[i] = k;
		used |= partner[i] < 0 ? 0 : 1u << partner[i];
	}
	for (int i = 0; i < got->axes.n; i++) {
		for (int k = 0; k < want->axes.n && partner[i] < 0; k++)
			if (!(used >> k & 1) && got->role[i] && got->role[i] == want->role[k])
				partner[i] = k;
		used |= partner[i] < 0 ? 0 : 1u << partner[i];
	}
}

/* Brings those of c's axes that the reference has, too, in its order. true: they were in
 * another. */
static bool turn_axes(const struct meeting *m, int f, int *partner)
{
	const int nd = m->c->of[f].axes.n;
	int order[MAXD], place[MAXD], n = 0;
	bool turned = false;
	for (int i = 0; i < nd; i++) {
		order[i] = i;
		if (partner[i] >= 0)
			place[n++] = i;
	}
	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n; k++)
			if (partner[order[place[k]]] < partner[order[place[i]]]) {
				const int t = order[place[i]];

				order[place[i]] = order[place[k]];
				order[place[k]] = t;
				turned = true;
			}
	if (!turned)
		return false;
	int old[MAXD];
	for (int i = 0; i < nd; i++)
		old[i] = partner[i];
	for (int i = 0; i < nd; i++)
		partner[i] = old[order[i]];
	column_permute(m->c, f, order);
	return true;
}

static int places_differ(const struct meeting *m, int f, int r, const struct axis *want,
                         const struct axis *got, const char *why)
{
	struct buf text = BUF_INIT;
	int rc;
	axis_describe(want, &text);
	buf_printf(&text, " in '%s', but ", m->ref->file[r]);
	axis_describe(got, &text);
	rc = ERR(E_DATA, NULL, "%s '%s': %s: %s in '%s'; --match coordinates joins what both have, "
	         "--match index goes by the order", m->c->o->role, m->c->name, why, text.data,
		m->c->file[f]);
	buf_release(&text);
	return rc;
}

/* Cuts an axis of all files down to what both have. */
static int join_places(const struct meeting *m, int f, int r, int i, int k)
{
	const struct axis want = m->ref->of[r].axes.axis[k], got = m->c->of[f].axes.axis[i];
	const int64_t *x, *y, n = axis_join(m->a, &want, &got, m->ref->of[r].role[k], &x, &y);
	if (n <= 0)
		return places_differ(m, f, r, &want, &got, "nothing that both have");
	column_choose(m->c, f, i, y, n);
	if (n == want.n && n == got.n)
		return 0;
	note("--match coordinates: %lld of '%s' are in both; %lld of '%s' and %lld of '%s' are left "
	     "out",
	     (long long)n, want.name, (long long)(want.n - n), shown(m->ref->file[r]),
	     (long long)(got.n - n), shown(m->c->file[f]));
	if (n == want.n)
		return 0;
	if (m->ref->nfiles > 1 || m->c->nfiles > 1)
		return places_differ(m, f, r, &want, &got, "places that are not in all of several files");
	for (int b = 0; b < m->nbefore; b++) {
		const struct column_file *of = &m->before[b]->of[0];

		for (int j = 0; j < of->axes.n; j++)
			if (of->role[j] == m->ref->of[r].role[k] && of->axes.axis[j].n == want.n)
				column_choose(m->before[b], 0, j, x, n);
	}
	return 0;
}

static void say_turned(struct column *c, int f, const char *what, const struct column *ref, int r)
{
	if (!c->turned)
		warn("%s '%s': %s in '%s' than in '%s', and is read as there", c->o->role, shown(c->name),
		     what,
		     shown(c->file[f]), shown(ref->file[r]));
	c->turned = true;
}

static int meet_axis(const struct meeting *m, int f, int r, int i, int k)
{
	const struct axis *want = &m->ref->of[r].axes.axis[k], *got = &m->c->of[f].axes.axis[i];
	const char role = m->ref->of[r].role[k];
	struct axis_meeting is;
	struct buf text = BUF_INIT;
	if (by_coordinates(m) && want->values && got->values)
		return join_places(m, f, r, i, k);
	is = axis_meet(m->a, want, got, role);
	if (is.order == ORDER_UNITS)
		return places_differ(m, f, r, want, got, "units or directions that cannot be compared");
	if (is.order == ORDER_SYSTEM)
		return places_differ(m, f, r, want, got, "other reference systems");
	if (is.order == ORDER_SHIFTED || (is.order == ORDER_OTHER && want->n == got->n))
		return places_differ(m, f, r, want, got, "other places");
	if (is.order == ORDER_OTHER && axis_direction(want) * axis_direction(got) < 0)
		return places_differ(m, f, r, want, got, "places the other way round");
	if (!is.element)
		return 0;
	buf_printf(&text, "'%s' %s", got->name, is.order == ORDER_REVERSED ? "runs the other way" :
	           is.order == ORDER_ROLLED ? "begins at another place" : "is in another order");
	say_turned(m->c, f, text.data, m->ref, r);
	buf_release(&text);
	column_choose(m->c, f, i, is.element, got->n);
	return 0;
}

static int grids_differ(const struct meeting *m, const char *why, struct buf *text)
{
	const int rc = ERR(E_DATA, NULL, "%s '%s': %s: %s; --match index goes by the order",
	                   m->c->o->role, m->c->name, why, text->data);
	buf_release(text);
	return rc;
}

/* Latitudes and longitudes that lie on two axes, and projections. */
static int meet_grids(const struct meeting *m, int f, int r, const int *partner)
{
	const struct axes *want = &m->ref->of[r].axes, *got = &m->c->of[f].axes;
	const char *const file[] = { m->ref->file[r], m->c->file[f] };
	struct buf text = BUF_INIT;
	unsigned reversed = 0;
	if (!place_same_projection(want, got, file, &text))
		return grids_differ(m, "other projections", &text);
	if (place_meet(want, got, partner, file, &reversed, &text) == PLACES_OTHER)
		return grids_differ(m, "other places", &text);
	for (int i = 0; i < m->c->of[f].axes.n; i++)
		if (reversed >> i & 1) {
			const int64_t n = m->c->of[f].axes.axis[i].n;

			buf_clear(&text);
			buf_printf(&text, "'%s' runs the other way", shown(got->axis[i].name));
			say_turned(m->c, f, text.data, m->ref, r);
			column_choose(m->c, f, i, column_backwards(m->a, n), n);
		}
	buf_release(&text);
	return 0;
}

/* File f as the reference's file r. */
static int meet_file(const struct meeting *m, int f, int r)
{
	int partner[MAXD];
	if (m->c->of[f].axes.n == 0 || m->ref->of[r].axes.n == 0)
		return 0;
	find_partners(m, f, r, partner);
	if (turn_axes(m, f, partner))
		say_turned(m->c, f, "its axes are in another order", m->ref, r);
	TRY(meet_grids(m, f, r, partner));
	for (int i = !m->c->file_a_sample; i < m->c->of[f].axes.n; i++) {
		const char role = partner[i] >= 0 ? m->ref->of[r].role[partner[i]] : 'C';

		if (role != 'C' && role != 'T')
			TRY(meet_axis(m, f, r, i, partner[i]));
	}
	return 0;
}

static int meet_places(const struct meeting *m)
{
	const bool pairs = m->ref->file_a_sample && m->c->file_a_sample && m->c->nfiles > 1 &&
	                   m->ref->samples == m->c->samples;
	for (int64_t i = 0; pairs && i < m->c->samples; i++)
		TRY(meet_file(m, column_file_of(m->c, i), column_file_of(m->ref, i)));
	for (int f = 0; !pairs && f < m->c->nfiles; f++)
		TRY(meet_file(m, f, 0));
	return 0;
}

/* --- columns --- */

static int meet(struct meeting *m)
{
	if (m->ref->file_a_sample && m->c->file_a_sample && (m->ref->nfiles > 1 || m->c->nfiles > 1))
		TRY(pair_files(m));
	if (!column_says_axes(m->c) || !column_says_axes(m->ref))
		return 0;
	TRY(meet_places(m));
	TRY(column_settle(m->c));
	for (int k = 0; k < m->nbefore; k++)
		TRY(column_settle(m->before[k]));
	return meet_samples(m);
}

/* --- what a network takes --- */

/* Where the coordinates are those of the training set in another order, file f is read in its. */
static void turn_file(const struct meeting *m, int f)
{
	const struct column_file *want = m->ref->of, *got = &m->c->of[f];
	int partner[MAXD];
	find_partners(m, f, 0, partner);
	for (int i = 0; i < got->axes.n; i++)
		if (partner[i] >= 0 && !axis_is_place(want->role[partner[i]]))
			partner[i] = -1;
	if (turn_axes(m, f, partner))
		say_turned(m->c, f, "its axes are in another order", m->ref, 0);
	for (int i = 0; i < got->axes.n; i++) {
		const int k = partner[i];
		const struct axis_meeting is = k < 0 ? (struct axis_meeting){ 0 } :
		                               axis_meet(m->a, &want->axes.axis[k], &got->axes.axis[i],
		                                         want->role[k]);

		if (!is.element)
			continue;
		say_turned(m->c, f, "the places of an axis are in another order", m->ref, 0);
		column_choose(m->c, f, i, is.element, got->axes.axis[i].n);
	}
}

static int turn_as(struct side *s, const struct like *l)
{
	struct column_file of = { .axes = l->places_of };
	char *name = arena_strdup(s->a, l->name);
	struct column ref = { .o = &s->o->read, .file = &name, .of = &of, .nfiles = 1 };
	struct meeting m = { .ref = &ref, .a = s->a };
	for (int k = 1; k < of.axes.n; k++)
		of.role[k] = axis_role(&of.axes.axis[k], 0);
	for (int i = 0; i < s->n; i++) {
		m.c = &s->column[i];
		for (int f = 0; f < m.c->nfiles; f++)
			turn_file(&m, f);
		TRY(column_settle(m.c));
	}
	return 0;
}

int side_meet(struct side *s, struct side *input, struct buf *said)
{
	if (!input && s->o->like && s->o->read.match != MATCH_INDEX)
		TRY(turn_as(s, s->o->like));
	struct column *ref = side_fullest(input ? input : s);
	struct meeting m = { .ref = ref, .a = s->a, .said = said };
	m.before = ARENA_ARRAY(s->a, struct column *, s->n + (input ? input->n : 0) + 1);
	m.before[m.nbefore++] = ref;
	for (int i = 0; input && i < input->n; i++)
		if (&input->column[i] != ref)
			m.before[m.nbefore++] = &input->column[i];
	for (int i = 0; i < s->n; i++) {
		m.c = &s->column[i];
		if (m.c == ref || m.c->o->match == MATCH_INDEX)
			continue;
		TRY(meet(&m));
		m.before[m.nbefore++] = m.c;
	}
	return 0;
}
