/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of subdomains: those of published layers; where planes lie; and for networks of every
 * kernel, stride, dilation and kind of layer that rows of all parts are all rows of a tensor, once,
 * and that what a part's outputs read covers what brute force finds. */
#include "cases.h"
#include "base/err.h"
#include "model/model.h"
#include "op_run.h"
#include "pass/cut.h"

struct net {
	struct arena *a;
	struct graph *g;
	tid in, out;
	struct cut c;
};

static void build(struct net *n, const char *yaml, int64_t classes, const struct shape *in,
                  bool train)
{
	struct ynode *root;
	struct variant_value v;
	struct model_outputs made;
	*n = (struct net){ .a = arena_new(), .g = graph_new() };
	assert_int_equal(ytree_parse(n->a, "model.yaml", yaml, &root), 0);
	if (model_read(n->a, root, "'model'", &v) < 0)
		fail_msg("%s", err_get(0)->text);
	assert_int_equal(graph_input(n->g, "input", DTYPE_F32, in, &n->in), 0);
	if (model_build(n->g, n->a, &v, train, n->in, classes, &made) < 0)
		fail_msg("%s", err_get(0)->text);
	n->out = made.v[0].t;
}

static void release(struct net *n)
{
	graph_free(n->g);
	arena_free(n->a);
	err_clear();
}

static struct cut_grid grid_of_parts(int axes, int d, int h, int w)
{
	return (struct cut_grid){ axes, { d, h, w } };
}

static void cut(struct net *n, struct cut_grid grid)
{
	if (cut_find(&n->c, n->a, n->g, n->in, NONE, n->out, &grid) < 0)
		fail_msg("%s", err_get(0)->text);
}

/* Each row of each tensor that is cut is in one part. */
static void check_partition(const struct net *n)
{
	for (tid t = 0; t < n->g->ntensor; t++)
		for (int k = 0; k < n->c.grid.axes && n->c.tensor[t].rows; k++) {
			int64_t at = 0;
			for (int j = 0; j < n->c.grid.parts[k]; j++) {
				const struct cut_rows r = cut_rows(&n->c, t, k, j);
				assert_int_equal(r.lo, at);
				assert_true(r.hi > r.lo);
				at = r.hi;
			}
			assert_int_equal(at, graph_t(n->g, t)->shape.d[n->c.tensor[t].first + k]);
		}
}

static const struct node *named(const struct net *n, const char *op, int which)
{
	for (int i = 0; i < n->g->nnode; i++)
		if (strcmp(n->g->node[i]->op->name, op) == 0 && which-- == 0)
			return n->g->node[i];
	fail_msg("no '%s'", op);
	return NULL;
}

/* The local input of a layer in an interior part, and rows received below and above. */
static void check_layer(const struct net *n, const char *op, int which, int j, int64_t rows,
                        int64_t below, int64_t above)
{
	const struct node *m = named(n, op, which);
	const struct cut_rows has = cut_rows(&n->c, m->in[0], 0, j), r = cut_needs(&n->c, m, 0, 0, j);
	if (n->c.way[m->id] != CUT_ROWS)
		fail_msg("%s %d of %d rows is computed whole", op, which,
		         (int)graph_t(n->g, m->out[0])->shape.d[2]);
	assert_int_equal(r.hi - r.lo, rows);
	assert_int_equal(has.lo - r.lo, below);
	assert_int_equal(r.hi - has.hi, above);
}

/* Oyama's network at 512 cubed over 8: 66, 34 and 18 planes; a stride of 2 requests one plane from
 * below. */
static void papers(void **state)
{
#define C(stride) "{conv3d: {filters: 2, kernel: 3, padding: 1, stride: " #stride "}}"
#define P         "{average_pool: {kernel: 2}}"
	struct net n;
	build(&n, "{family: layers, layers: [" C(1) "," P "," C(1) "," P "," C(1) "," P "," C(2) "]}",
	      2, &(struct shape){ 5, { 1, 1, 512, 16, 16 } }, false);
	cut(&n, grid_of_parts(3, 8, 1, 1));
	check_partition(&n);
	check_layer(&n, "conv", 0, 3, 66, 1, 1);
	check_layer(&n, "conv", 0, 0, 65, 0, 1);
	check_layer(&n, "average_pool", 0, 3, 64, 0, 0);
	check_layer(&n, "conv", 1, 4, 34, 1, 1);
	check_layer(&n, "conv", 2, 6, 18, 1, 1);
	check_layer(&n, "conv", 3, 3, 9, 1, 0);
	release(&n);
}

/* Planes at multiples of the total stride, as even as possible; the last part has the rest. */
static void planes(void **state)
{
	static const struct {
		int64_t extent;
		int parts;
		int64_t bound[5], stride;
	} t[] = {
		{ 64, 2, { 0, 32, 64 }, 8 },
		{ 65, 2, { 0, 32, 65 }, 8 },
		{ 90, 4, { 0, 24, 48, 64, 90 }, 8 },
		{ 40, 4, { 0, 8, 24, 32, 40 }, 8 },
		{ 31, 4, { 0, 8, 16, 24, 31 }, 4 },       /* the deepest level is not cut */
		{ 5, 4, { 0, 1, 3, 4, 5 }, 1 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		build(&n, "{family: layers, layers: [{max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: "
		      "1}}, {max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}}, {conv2d: {filters: 1,"
		      " kernel: 3, stride: 2, padding: same}}]}", 1,
		      &(struct shape){ 4, { 1, 1, t[i].extent, 9 } }, false);
		cut(&n, grid_of_parts(2, t[i].parts, 1, 1));
		assert_int_equal(n.c.stride[0], t[i].stride);
		for (int j = 0; j <= t[i].parts; j++)
			assert_int_equal(n.c.bound[0][j], t[i].bound[j]);
		check_partition(&n);
		release(&n);
	}
}

static void too_many(void **state)
{
	struct net n;
	struct cut_grid grid = grid_of_parts(2, 128, 1, 1);
	build(&n, "{family: layers, layers: [{conv2d: {filters: 1, kernel: 3}}]}", 1,
	      &(struct shape){ 4, { 1, 1, 90, 8 } }, false);
	assert_int_equal(cut_find(&n.c, n.a, n.g, n.in, NONE, n.out, &grid), E_SHAPE);
	assert_string_equal(err_get(0)->text, "cuts 90 rows into 128 subdomains: 'input' would have "
	                    "none in 38 of them; at most 90");
	release(&n);
}

/* What is computed of all, and what of rows, by the number of nodes. */
static void ways(const char *yaml, int64_t classes, struct shape in, struct cut_grid grid,
                 bool train, const char *whole)
{
	struct net n;
	char found[256] = "";
	build(&n, yaml, classes, &in, train);
	cut(&n, grid);
	check_partition(&n);
	for (int i = 0; i < n.g->nnode; i++) {
		const struct node *m = n.g->node[i];
		bool dense = true;
		for (int k = 0; k < m->nin; k++)
			dense &= m->in[k] == NONE || !n.c.tensor[m->in[k]].rows;
		if (n.c.way[i] != CUT_WHOLE || dense)
			continue;
		if (!strstr(found, m->op->name) && strlen(found) + strlen(m->op->name) + 2 < sizeof found)
			strcat(strcat(found, found[0] ? " " : ""), m->op->name);
	}
	if (strcmp(found, whole) != 0)
		fail_msg("%s: '%s' of all, expected '%s'", yaml, found, whole);
	release(&n);
}

static void families(void **state)
{
	const struct shape cube = { 5, { 1, 1, 64, 64, 64 } }, plane = { 4, { 2, 16, 64, 96 } };
	ways("{family: unet3d}", 3, cube, grid_of_parts(3, 2, 2, 1), true, "");
	ways("{family: unet3d}", 3, cube, grid_of_parts(3, 3, 1, 1), true, "");
	ways("{family: cosmoflow}", 4, (struct shape){ 5, { 1, 4, 64, 64, 64 } },
	     grid_of_parts(3, 2, 1, 2), true, "transpose");
	ways("{family: tiramisu, variant: fc-densenet56}", 11, (struct shape){ 4, { 1, 3, 64, 96 } },
	     grid_of_parts(2, 2, 3, 1), true, "");
	ways("{family: deeplabv3+, variant: sc18}", 3, plane, grid_of_parts(2, 2, 2, 1), true, "");
	ways("{family: resnet}", 3, (struct shape){ 4, { 1, 3, 64, 64 } }, grid_of_parts(2, 2, 1, 1),
	     true, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(papers),
		cmocka_unit_test(planes),
		cmocka_unit_test(too_many),
		cmocka_unit_test(families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
