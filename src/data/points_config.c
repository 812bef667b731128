/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads `points`. A set may name others in `minus` and `faces`, above or below it: these are
 * read before the set. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "data/points_parts.h"
#include "yaml/schema_value.h"

struct points_resample {
	int64_t every;                       /* INT64_MIN: not given, as is `of` */
	const char *by;
	int64_t of;
};

/* Of a set; of a region inside of one the rows of region_fields alone. */
struct points_config {
	struct points_shape_config shape;
	const struct ynode *minus, *faces, *count, *within;
	const char *record, *samples, *sensors;
	int64_t realizations;
	int draw;
	struct points_resample resample;
};

static const char *const draw_names[] = { "uniform", "sobol", "latin_hypercube", "grid", NULL };

static const struct field resample_fields[] = {
	FIELD(struct points_resample, every, FT_INT, .dflt = "null", .min = 1, .max = 1e12,
	      .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "steps after which there is a new draw; null: never"),
	FIELD(struct points_resample, by, FT_STRING, .flags = FIELD_NULLABLE,
	      .doc = "a residual, an expression: points are picked from 'of' candidates with "
	             "probabilities proportional to its size there"),
	FIELD(struct points_resample, of, FT_INT, .dflt = "null", .min = 1, .max = POINTS_MOST,
	      .flags = FIELD_NULLABLE, .doc = "candidates of a draw, more than 'count'"),
	FIELD_END
};

#define AT(m) offsetof(struct points_config, m)
#define REGION_ROWS \
	FIELD_AT("box", FT_NODE, AT(shape.box), \
	         .doc = "axes: an interval [LO, HI], a value, or {ends: [LO, HI]}, the two faces of " \
	                "the interval"), \
	FIELD_AT("disk", FT_SECTION, AT(shape.disk), .sub = points_disk_fields, \
	         .doc = "a disk over two further axes"), \
	FIELD_AT("polygon", FT_SECTION, AT(shape.polygon), .sub = points_polygon_fields, \
	         .doc = "a polygon over two further axes"), \
	FIELD_NODE(struct points_config, minus, NULL, \
	           "what is not of the set: the name of another one, a region {disk: ...}, or a list " \
	           "of them; along an axis that it lacks it is everywhere")

static const struct field region_fields[] = { REGION_ROWS, FIELD_END };

const struct field points_fields[] = {
	REGION_ROWS,
	FIELD_NODE(struct points_config, faces, NULL,
	           "the boundary of a region, with normals out of it: the name of a set, or {box: "
	           "...}"),
	FIELD(struct points_config, record, FT_PATH, .flags = FIELD_NULLABLE,
	      .doc = "the points of a record file: its arrays with names of coordinates say where, "
	             "the others are values there"),
	FIELD(struct points_config, samples, FT_PATH, .flags = FIELD_NULLABLE,
	      .doc = "the samples of a record file in the place of points: its arrays are values, all "
	             "of a sample at once"),
	FIELD(struct points_config, sensors, FT_STRING, .flags = FIELD_NULLABLE,
	      .doc = "with 'record': the field F whose sensors the points are, of the arrays F_sensors "
	             "and, with their coordinates, F_sensors_x and so on"),
	FIELD_NODE(struct points_config, within, NULL,
	           "with 'record': axes and intervals {x: [LO, HI]}, of whose points the set has "
	           "those inside"),
	FIELD(struct points_config, realizations, FT_INT, .dflt = "null", .min = 1, .max = POINTS_MOST,
	      .flags = FIELD_NULLABLE,
	      .doc = "realizations of random fields that a step has, each at all points of the set; of "
	             "a record this many of its samples; absent: no realizations"),
	FIELD_NODE(struct points_config, count, NULL,
	           "how many points a step has; of a grid also {x: 31, t: 11}; absent: of a record "
	           "all"),
	FIELD_ENUM(struct points_config, draw, "sobol", draw_names,
	           "how points are drawn: sobol: Sobol's sequence with a random digital shift; "
	           "latin_hypercube: each coordinate stratified; grid: evenly, with the ends"),
	FIELD_SECTION(struct points_config, resample, resample_fields,
	              "a new draw every N steps; also {by: RESIDUAL, every: STEPS, of: "
	              "CANDIDATES}"),
	FIELD_END
};

/* --- regions --- */

enum reading { UNREAD, READING, READ, BAD };

struct points_reader {
	struct arena *a;
	const struct ynode *section;
	struct points *points;
	enum reading *state;                 /* by set, as the arrays below */
	struct points_geometry *geometry;
	bool *used;                          /* another set uses it */
	int depth;                           /* nesting depth of regions */
};

/* Limits, so that no config exhausts the stack or memory: a region that is named twice is stored
 * twice. */
#define DEPTH_MOST 32
#define SHAPES_MOST 1000

static int read_set(struct points_reader *r, int i);
static int read_minus(struct points_reader *r, const struct ynode *minus, bool faces,
                      struct points_region *whole);

/* The region of another set. */
static int named_region(struct points_reader *r, const struct ynode *n,
                        const struct points_region **out)
{
	struct suggest near = { .word = n->text };
	int i = 0;
	while (i < r->points->n && strcmp(r->points->set[i].name, n->text) != 0)
		suggest_offer(&near, r->points->set[i++].name);
	if (i == r->points->n)
		return ERR(E_CONFIG, &n->loc, near.best ? "unknown set '%s'; did you mean '%s'?" :
		           "unknown set '%s'", n->text, near.best);
	if (r->state[i] == READING)
		return ERR(E_CONFIG, &n->loc, "set '%s' is made of itself", n->text);
	r->used[i] = true;
	TRY(read_set(r, i));
	if (r->points->set[i].record || r->geometry[i].on_faces)
		return ERR(E_CONFIG, &n->loc, "'%s' is made of %s: expected a region, of 'box', 'disk' or "
		           "'polygon'", n->text, r->points->set[i].record ? "a record" : "faces");
	*out = &r->geometry[i].body;
	return 0;
}

static int written_region(struct points_reader *r, const struct ynode *n,
                          const struct points_region **out)
{
	struct points_region *region = ARENA_NEW(r->a, struct points_region);
	struct points_config c;
	int rc = schema_read(r->a, n, region_fields, "this region", &n->loc, &c);
	for (int i = 0; n->kind == Y_MAP && i < n->n; i++)
		rc = first_code(rc, points_read_shape(r->a, &c.shape, &n->pair[i], region));
	TRY(rc);
	if (region->naxes == 0)
		return ERR(E_CONFIG, &n->loc, "expected a region, of 'box', 'disk' or 'polygon'");
	*out = region;
	return c.minus ? read_minus(r, c.minus, false, region) : 0;
}

static int too_deep(const struct ynode *n)
{
	return ERR(E_CONFIG, &n->loc, "regions are more than %d deep in others here", DEPTH_MOST);
}

/* Reads a region for `minus` or `faces` (key): it must have a volume, unless it is `flat`. */
static int read_region(struct points_reader *r, const struct ynode *n, const char *key, bool flat,
                       const struct points_region **out)
{
	int rc = 0;
	if (r->depth == DEPTH_MOST)
		return too_deep(n);
	r->depth++;
	if (n->kind == Y_SCALAR)
		rc = named_region(r, n, out);
	else if (n->kind == Y_MAP)
		rc = written_region(r, n, out);
	r->depth--;
	TRY(rc);
	if (n->kind != Y_SCALAR && n->kind != Y_MAP)
		return ERR(E_CONFIG, &n->loc, "'%s' must be the name of a set or a region {box: ...}, not "
		           "%s", key, value_describe(r->a, n));
	for (int i = 0; i < (*out)->nfactors; i++) {
		const struct points_factor *f = &(*out)->factor[i];
		if (!flat && (f->kind == FACTOR_VALUE || f->kind == FACTOR_ENDS))
			return ERR(E_CONFIG, &n->loc, "axis '%s' of a region for '%s' must be an interval",
			           (*out)->axis[f->axis[0]], key);
	}
	return 0;
}

/* Also of regions that were read before those they are in. */
static int depth_of(const struct points_region *r)
{
	int depth = 0;
	for (int i = 0; i < r->nminus; i++) {
		const int below = depth_of(r->minus[i]);
		depth = below > depth ? below : depth;
	}
	return depth + 1;
}

/* faces: what is taken away from is faces, of which a region without a volume can take a part. */
static int read_minus(struct points_reader *r, const struct ynode *minus, bool faces,
                      struct points_region *whole)
{
	const int n = minus->kind == Y_SEQ ? minus->n : 1;
	const struct points_region **list = ARENA_ARRAY(r->a, const struct points_region *, n + 1);
	int rc = 0, shapes = 0;
	for (int i = 0; i < n; i++) {
		const struct ynode *item = minus->kind == Y_SEQ ? minus->item[i] : minus;
		const struct points_region *less = NULL;
		int bad = read_region(r, item, "minus", faces, &less);
		for (int k = 0; bad == 0 && k < less->naxes; k++)
			if (points_region_axis(whole, less->axis[k]) < 0)
				bad = ERR(E_CONFIG, &item->loc, "axis '%s' of what is taken away is no axis of "
				          "the set", less->axis[k]);
		if (bad == 0 && depth_of(less) >= DEPTH_MOST)
			bad = too_deep(item);
		if (bad == 0 && (shapes += points_region_shapes(less)) > SHAPES_MOST)
			return ERR(E_CONFIG, &item->loc, "more than %d shapes are taken away", SHAPES_MOST);
		rc = first_code(rc, bad);
		if (bad == 0)
			list[whole->nminus++] = points_region_extend(r->a, less, whole);
	}
	whole->minus = list;
	return rc;
}

static int read_faces(struct points_reader *r, const struct ynode *n, struct points_geometry *g)
{
	const struct points_region *region = NULL;
	int rc = read_region(r, n, "faces", false, &region), axis;
	TRY(rc);
	g->on_faces = true;
	g->faces = points_faces_of(r->a, region);
	g->faces_at = g->body.naxes;
	for (int i = 0; i < region->naxes; i++)
		rc = first_code(rc, points_add_axis(&g->body, region->axis[i], &n->loc, &axis));
	return rc;
}

/* The factors of a set in the order of its keys. */
static int read_geometry(struct points_reader *r, const struct ynode *n,
                         const struct points_config *c, struct points_geometry *g)
{
	int rc = 0, ends = 0;
	for (int i = 0; i < n->n; i++) {
		const struct ypair *p = &n->pair[i];
		rc = first_code(rc, points_read_shape(r->a, &c->shape, p, &g->body));
		if (strcmp(p->key, "faces") == 0)
			rc = first_code(rc, read_faces(r, p->value, g));
	}
	TRY(rc);
	if (g->body.naxes == 0)
		return ERR(E_CONFIG, &n->loc, "a set must have 'box', 'disk', 'polygon', 'faces', 'record' "
		           "or 'samples'");
	for (int i = 0; i < g->body.nfactors; i++)
		ends += g->body.factor[i].kind == FACTOR_ENDS;
	if (ends + g->on_faces > 1)
		return ERR(E_CONFIG, &n->loc, "a set may be on one kind of faces alone: one axis with "
		           "'ends', or 'faces'; all faces of a box are {faces: {box: ...}}");
	if (c->minus)
		TRY(read_minus(r, c->minus, g->on_faces || ends, &g->body));
	g->rejects = g->body.nminus > 0 || (g->on_faces && g->faces.nshapes > 1);
	g->dims = points_region_dims(&g->body) + (g->on_faces ? points_faces_dims(&g->faces) : 0);
	g->distinct = ends + 1;
	if (g->on_faces)
		g->distinct = g->faces.region->naxes == 1 ? g->faces.n : 0;
	for (int i = 0; i < g->body.nfactors; i++)
		if (g->body.factor[i].kind != FACTOR_ENDS && g->body.factor[i].kind != FACTOR_VALUE)
			g->distinct = 0;
	g->grid[0] = g->distinct;
	return 0;
}

/* --- sets --- */

static int read_resample(const struct points_config *c, const struct ynode *n, bool fixed,
                         struct point_set *s)
{
	const struct ypair *p = ytree_pair(n, "resample");
	const struct points_resample *w = &c->resample;
	const bool by = w->by != NULL, of = w->of != INT64_MIN;
	if (!p || (w->every == INT64_MIN && !by && !of))
		return 0;
	s->by_loc = p->value->loc;
	if (s->realizations && by)
		return ERR(E_CONFIG, &p->value->loc, "'by' does not go with 'realizations'");
	if (w->every == INT64_MIN || by != of)
		return ERR(E_CONFIG, &p->value->loc, "'resample' must be steps, or have all of 'by', "
		           "'every' and 'of'");
	if (fixed)
		return ERR(E_CONFIG, &p->key_loc, "'%s' has the same points in each draw: leave out "
		           "'resample'", s->name);
	if (by && w->of <= s->count)
		return ERR(E_CONFIG, &p->value->loc, "'of' is %lld: expected more candidates than 'count' "
		           "has points, %lld", (long long)w->of, (long long)s->count);
	s->every = w->every;
	s->by = w->by;
	s->by_node = by ? ytree_find(p->value, "by") : NULL;
	s->of = by ? w->of : 0;
	return 0;
}

static bool is_one_of(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* Keys that do not go with the others of a set. */
static int check_keys(const struct ynode *n, const struct point_set *s)
{
	static const char *const of_both[] = { "count", "resample", "realizations", NULL };
	static const char *const of_record[] = { "record", "sensors", "within", NULL };
	static const char *const of_samples[] = { "samples", "count", "resample", NULL };
	const char *key = s->whole ? "samples" : "record";
	int rc = 0;
	for (int i = 0; i < n->n; i++) {
		const struct ypair *p = &n->pair[i];
		const bool record = is_one_of(of_record, p->key);
		if (s->whole ? !is_one_of(of_samples, p->key) :
		    s->record && !record && !is_one_of(of_both, p->key))
			rc = first_code(rc, ERR(E_CONFIG, &p->key_loc, "'%s' does not go with '%s', which has "
			                        "the points of '%s'", p->key, key, s->name));
		if (!s->record && record && strcmp(p->key, "record") != 0)
			rc = first_code(rc, ERR(E_CONFIG, &p->key_loc, "'%s' is for the points of a 'record'",
			                        p->key));
		if (s->record && s->realizations && strcmp(p->key, "count") == 0)
			rc = first_code(rc, ERR(E_CONFIG, &p->key_loc, "'count' does not go with "
			                        "'realizations' of a record, which have all its points; "
			                        "'within' takes a part of them"));
	}
	return rc;
}

static int read_within(const struct ynode *n, struct point_set *s)
{
	if (n->kind != Y_MAP || n->n == 0 || n->n > POINTS_DIMS)
		return ERR(E_CONFIG, &n->loc, "'within' must be a map of axes to intervals, {x: [LO, HI]}");
	for (int i = 0; i < n->n; i++) {
		const struct ypair *p = &n->pair[i];
		struct point_range *r = &s->within[s->nwithin++];
		*r = (struct point_range){ .axis = p->key, .loc = p->key_loc };
		if (p->value->kind != Y_SEQ || p->value->n != 2)
			return ERR(E_CONFIG, &p->value->loc, "'%s' must be an interval [LO, HI]", p->key);
		TRY(points_number(p->value->item[0], p->key, &r->low));
		TRY(points_number(p->value->item[1], p->key, &r->high));
		if (r->low > r->high)
			return ERR(E_CONFIG, &p->value->loc, "the interval of '%s' ends below its begin",
			           p->key);
	}
	return 0;
}

static int read_keys(struct points_reader *r, int i, const struct ynode *n)
{
	struct point_set *s = &r->points->set[i];
	struct points_geometry *g = &r->geometry[i];
	struct points_config c;
	int rc = schema_read(r->a, n, points_fields, arena_printf(r->a, "set '%s'", s->name), &s->loc,
	                     &c);
	if (n->kind != Y_MAP)
		return first_code(rc, n->kind == Y_NULL ?
		                  ERR(E_CONFIG, &s->loc, "set '%s' is empty", s->name) : 0);
	s->draw = (enum points_kind)c.draw;
	s->record = c.samples ? c.samples : c.record;
	s->whole = c.samples != NULL;
	s->sensors = c.sensors;
	s->realizations = c.realizations < 1 ? 0 : c.realizations;
	rc = first_code(rc, check_keys(n, s));
	if (!s->record)
		rc = first_code(rc, read_geometry(r, n, &c, g));
	if (c.within)
		rc = first_code(rc, read_within(c.within, s));
	TRY(rc);
	s->geometry = g;
	s->normals = g->on_faces;
	s->naxes = g->body.naxes;
	memcpy(s->axis, g->body.axis, sizeof s->axis);
	for (int k = 0; k < g->body.nfactors; k++)
		s->normals |= g->body.factor[k].kind == FACTOR_ENDS;
	TRY(points_read_count(r->a, c.count, s, g));
	const bool fixed = s->record ? !c.count && !s->realizations
	                             : s->draw == POINTS_GRID || g->distinct > 0;
	return read_resample(&c, n, fixed, s);
}

static int read_set(struct points_reader *r, int i)
{
	const struct ypair *p = &r->section->pair[i];
	int rc = 0;
	if (r->state[i] != UNREAD)
		return r->state[i] == READ ? 0 : E_CONFIG;
	r->state[i] = READING;
	if (!points_is_name(p->key))
		rc = ERR(E_CONFIG, &p->key_loc, "'%s' is no name of a set: expected letters, digits and "
		         "'_'", p->key);
	rc = first_code(rc, read_keys(r, i, p->value));
	r->state[i] = rc < 0 ? BAD : READ;
	return rc;
}

/* Checks that a set has points, also if it is a difference. */
static int check_drawable(const struct points_reader *r, int i)
{
	const struct point_set *s = &r->points->set[i];
	const struct ynode *n = r->section->pair[i].value;
	if (s->record)
		return 0;
	if (s->count == 0 && (!r->used[i] || ytree_pair(n, "draw") || ytree_pair(n, "resample")))
		return ERR(E_CONFIG, &s->loc, "missing key 'count' in set '%s'", s->name);
	return s->count > 0 && r->geometry[i].rejects ? points_check(s) : 0;
}

int points_read(struct arena *a, const struct ynode *section, struct points *out)
{
	const int n = section->kind == Y_MAP ? section->n : 0;
	struct points_reader r = { .a = a, .section = section, .points = out };
	int rc = 0;
	*out = (struct points){ n, ARENA_ARRAY(a, struct point_set, n + 1) };
	if (section->kind != Y_MAP)
		return ERR(E_CONFIG, &section->loc, "'points' must be a map of sets, {NAME: {box: ...}}, "
		           "not %s", value_describe(a, section));
	r.state = ARENA_ARRAY(a, enum reading, n + 1);
	r.geometry = ARENA_ARRAY(a, struct points_geometry, n + 1);
	r.used = ARENA_ARRAY(a, bool, n + 1);
	for (int i = 0; i < n; i++) {
		out->set[i].name = section->pair[i].key;
		out->set[i].loc = section->pair[i].key_loc;
	}
	for (int i = 0; i < n; i++)
		rc = first_code(rc, read_set(&r, i));
	for (int i = 0; i < n; i++)
		if (r.state[i] == READ)
			rc = first_code(rc, check_drawable(&r, i));
	return rc;
}
