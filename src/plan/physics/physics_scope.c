/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sets at which expressions are evaluated: those of the config, for objectives, and one of
 * points or samples for networks by themselves. */
#include <string.h>

#include "plan/physics/physics.h"

bool physics_has_samples(const struct physics *p)
{
	bool any = false;
	for (int i = 0; i < p->points.n; i++)
		if (p->points.set[i].whole)
			any = true;
		else if (p->points.set[i].naxes)
			return false;
	return any;
}

int64_t physics_share(const struct point_set *s, int ranks)
{
	return (s->realizations ? s->realizations : 1) * s->count / (ranks > 1 ? ranks : 1);
}

bool physics_is_spatial(const char *axis)
{
	return strcmp(axis, "t") != 0 && strcmp(axis, "time") != 0;
}

int physics_spatial_axes(const struct point_set *p)
{
	int n = 0;
	for (int k = 0; k < p->naxes; k++)
		n += physics_is_spatial(p->axis[k]);
	return n;
}

static struct expr_set set_of(struct arena *a, const struct point_set *p, int ranks)
{
	struct expr_axis *axis = ARENA_ARRAY(a, struct expr_axis, p->naxes + 1);
	const char **array = ARENA_ARRAY(a, const char *, p->nvalues + 1);
	for (int k = 0; k < p->naxes; k++)
		axis[k] = (struct expr_axis){ p->axis[k], physics_is_spatial(p->axis[k]) };
	for (int k = 0; k < p->nvalues; k++)
		array[k] = p->values[k].name;
	const int64_t rows = physics_share(p, ranks);
	const int64_t points = p->whole ? 1 : p->realizations ? p->count : rows;
	return (struct expr_set){ .name = p->name, .points = points,
		.realizations = points ? rows / points : 1, .axis = axis, .naxis = p->naxes,
		.array = array, .narray = p->nvalues, .normals = p->normals };
}

struct expr_scope physics_scope(struct arena *a, const struct physics *p, int ranks)
{
	struct expr_set *set = ARENA_ARRAY(a, struct expr_set, p->points.n + 1);
	int n = 0;
	for (int i = 0; i < p->points.n; i++)
		set[n++] = set_of(a, &p->points.set[i], ranks);
	return (struct expr_scope){ .arena = a, .name = p->name, .nname = p->nname, .set = set,
		.nset = n, .ranks = ranks };
}

int64_t physics_rows(const struct physics *p)
{
	int64_t rows = PHYSICS_ROWS;
	for (int i = 0; physics_has_samples(p) && i < p->points.n; i++)
		if (p->points.set[i].whole && p->points.set[i].count < rows)
			rows = p->points.set[i].count;
	return rows;
}

/* Each point is a realization of its own. */
struct expr_scope physics_scope_at(struct arena *a, const struct physics *p, int64_t rows)
{
	const int arrays = p->record ? p->record->nvalues : 0;
	struct expr_axis *axis = ARENA_ARRAY(a, struct expr_axis, p->coordinates.n + 1);
	const char **array = ARENA_ARRAY(a, const char *, arrays + 1);
	struct expr_set *set = ARENA_NEW(a, struct expr_set);
	for (int k = 0; k < p->coordinates.n; k++)
		axis[k] = (struct expr_axis){ p->coordinates.v[k],
			physics_is_spatial(p->coordinates.v[k]) };
	for (int k = 0; k < arrays; k++)
		array[k] = p->record->values[k].name;
	*set = (struct expr_set){ .name = physics_has_samples(p) ? PHYSICS_RECORD : PHYSICS_AT,
		.points = 1, .realizations = rows, .axis = axis, .naxis = p->coordinates.n,
		.array = array, .narray = arrays };
	return (struct expr_scope){ .arena = a, .name = p->name, .nname = p->nname, .set = set,
		.nset = 1 };
}
