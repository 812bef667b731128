/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looking names up in the scope of an expression. */
#include <string.h>

#include "model/expr_tree.h"

static const struct expr_name *find(const struct expr_scope *s, const char *name, bool array)
{
	for (int i = 0; i < s->nname; i++)
		if ((s->name[i].what == EXPR_ARRAY) == array && !strcmp(s->name[i].name, name))
			return &s->name[i];
	return NULL;
}

const struct expr_name *expr_find_array(const struct expr_scope *s, const char *name)
{
	return find(s, name, true);
}

const struct expr_name *expr_find_name(const struct expr_scope *s, const char *name)
{
	const struct expr_name *n = find(s, name, false);
	return n ? n : find(s, name, true);
}

int expr_find_set(const struct expr_scope *s, const char *name)
{
	for (int i = 0; i < s->nset; i++)
		if (!strcmp(s->set[i].name, name))
			return i;
	return NONE;
}

int expr_find_axis(const struct expr_set *set, const char *name)
{
	for (int i = 0; i < set->naxis; i++)
		if (!strcmp(set->axis[i].name, name))
			return i;
	return NONE;
}

bool expr_has_array(const struct expr_set *set, const char *name)
{
	for (int i = 0; i < set->narray; i++)
		if (!strcmp(set->array[i], name))
			return true;
	return false;
}

const struct expr_bound *expr_find_bound(int nbound, const struct expr_bound *bound,
                                         const char *name)
{
	for (int i = 0; i < nbound; i++)
		if (!strcmp(bound[i].name, name))
			return &bound[i];
	return NULL;
}

uint64_t expr_coordinate_bit(const struct expr_scope *s, const struct expr_name *name)
{
	int i = 0;
	for (const struct expr_name *n = s->name; n < name; n++)
		i += n->what == EXPR_COORDINATE;
	return i < 64 ? UINT64_C(1) << i : ~UINT64_C(0);
}
