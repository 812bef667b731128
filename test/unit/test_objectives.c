/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A session with two networks and two objectives, each with its own parameters, optimizer and
 * schedule, trained in turn, against the same in float64 written out here; and whose turn it is. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "data/record.h"
#include "model/nn.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "train/run/loop.h"
#include "yaml/ytree.h"

enum { SAMPLES = 8, BATCH = 4, INPUTS = 2, UNITS = 5, STEPS = 10 };

static char folder[64];

/* --- data: x, a target, and a weight of each target --- */

static double input_of(int s, int i)
{
	return sin(1.3 * s + 0.7 * i) + 0.1 * i;
}

static double target_of(int s)
{
	return cos(0.9 * s);
}

static double weight_of(int s)
{
	return s % 3 == 2 ? 0 : 1 + 0.5 * (s % 4);
}

static void write_record(const char *path)
{
	const struct record_array weight = { .dtype = DTYPE_F32, .shape = { 1, { 1 } },
		.role = RECORD_WEIGHT, .name = "importance" };
	const struct record_info info = { .input = { DTYPE_F32, { 1, { INPUTS } }, NULL, 0, NULL },
		.target = { DTYPE_F32, { 1, { 1 } }, NULL, 0, NULL }, .mask = -1,
		.ignore = RECORD_NO_IGNORE, .nextra = 1, .extra = &weight };
	struct record_writer *w;
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	for (int s = 0; s < SAMPLES; s++) {
		float x[INPUTS], y = (float)target_of(s), of = (float)weight_of(s);
		const void *const data[] = { x, &y, &of };
		for (int i = 0; i < INPUTS; i++)
			x[i] = (float)input_of(s, i);
		assert_int_equal(record_add(w, &(struct record_sample){ .data = data }), 0);
	}
	assert_int_equal(record_commit(w), 0);
}

/* --- two networks of one input --- */

static int build_one(struct model_build *b, const char *name, tid *out)
{
	char path[32];
	tid x;
	snprintf(path, sizeof path, "%s.first", name);
	TRY(nn_dense(b, path, UNITS, true, WI_GLOROT_NORMAL, b->input, &x));
	TRY(graph_emit1(b->g, "tanh", NULL, 1, &x, &x));
	snprintf(path, sizeof path, "%s.second", name);
	return nn_dense(b, path, 1, true, WI_GLOROT_NORMAL, x, out);
}

static int build_two(struct model_build *b, tid *out)
{
	tid v;
	TRY(build_one(b, "u", out));
	TRY(build_one(b, "v", &v));
	model_output(b, "v", v);
	return 0;
}

static struct variant_value read_variant(struct arena *a, const char *text,
                                         const struct variant *variants)
{
	struct variant_value v;
	struct ynode *root;
	assert_int_equal(ytree_parse(a, "test.yaml", text, &root), 0);
	assert_int_equal(schema_read_variant(a, root, variants, "test", &v), 0);
	return v;
}

static const struct family two_networks = { .name = "two", .build = build_two };
static const struct variant two_variant = { .name = "two", .own = &two_networks };
static const char *const only_u[] = { "u" }, *const only_v[] = { "v" };
static const struct strings train_u = { 1, only_u, NULL }, train_v = { 1, only_v, NULL };

static void set_objectives(struct run_config *c)
{
	static const struct model_common common = { .classes = 1 };
	struct variant_value *v = ARENA_ARRAY(c->arena, struct variant_value, 6);
	struct objective *o = ARENA_ARRAY(c->arena, struct objective, 2);
	c->model = (struct variant_value){ .v = &two_variant, .data = &common };
	v[0] = v[1] = read_variant(c->arena, "{type: mse}", loss_variants);
	v[2] = read_variant(c->arena, "{type: adam, learning_rate: 0.02}", optimizer_variants);
	v[3] = read_variant(c->arena, "{type: sgd, learning_rate: 0.05, momentum: 0.9}",
	                    optimizer_variants);
	v[4] = read_variant(c->arena, "{type: constant}", schedule_variants);
	v[5] = read_variant(c->arena, "{type: step, every: {steps: 3}, factor: 0.5}",
	                    schedule_variants);
	o[0] = (struct objective){ .name = "of u", .networks = &train_u, .times = 1, .loss = &v[0],
		.optimizer = &v[2], .schedule = &v[4], .metrics = &c->metrics };
	o[1] = (struct objective){ .name = "of v", .networks = &train_v, .output = "v", .times = 2,
		.weights = "importance", .loss = &v[1], .optimizer = &v[3], .schedule = &v[5],
		.metrics = &c->metrics };
	c->objectives = (struct objectives){ o, 2 };
}

static const char config_text[] =
	"run: {name: two, dir: %s/%s, seed: 3}\n"
	"device: %s\n"
	"model: {family: layers, layers: [{dense: {units: 1}}]}\n"
	"data: {train: %s/two.dlx, shuffle: false}\n"
	"loss: mse\n"
	"optimizer: {type: sgd, learning_rate: 0.1}\n"
	"train: {steps: %d, batch_size: %d}\n"
	"checkpoint: {every: null, keep: {best: 0}}\n"
	"report: {progress: none}\n";

static struct session *open_run(const char *device)
{
	char text[2048], path[128];
	struct run_config *c;
	struct session *s = NULL;
	struct session_options o = { .need = SESSION_TRAIN | SESSION_RUN };
	snprintf(text, sizeof text, config_text, folder, device, device, folder, STEPS, BATCH);
	snprintf(path, sizeof path, "%s/c.yaml", folder);
	io_input_forget(path);
	assert_int_equal(io_write_file(path, text, strlen(text)), 0);
	assert_int_equal(config_load(&c, path, 0, NULL), 0);
	set_objectives(c);
	int rc = session_open(&s, c, &o);
	if (rc < 0)
		err_print(stderr, "test_objectives");
	assert_int_equal(rc, 0);
	return s;
}

/* --- the same in float64 --- */

enum { FIRST = 0, BIAS = UNITS * INPUTS, SECOND = BIAS + UNITS, LAST = SECOND + UNITS,
	PARAMS = LAST + 1 };

struct net {
	double p[PARAMS], m[PARAMS], v[PARAMS];
};

static void read_net(const struct session *s, const char *name, double *p)
{
	static const struct {
		const char *leaf;
		int at;
	} parts[] = { { "first.weight", FIRST }, { "first.bias", BIAS }, { "second.weight", SECOND },
		{ "second.bias", LAST } };
	for (int i = 0; i < 4; i++) {
		char path[64];
		snprintf(path, sizeof path, "%s.%s", name, parts[i].leaf);
		const struct store_entry *e = store_find(s->store, path);
		assert_non_null(e);
		store_get(e, DTYPE_F64, p + parts[i].at);
	}
}

static void gradient(const struct net *n, int first, bool weighted, double *g)
{
	double total = 0;
	memset(g, 0, PARAMS * sizeof *g);
	for (int s = first; s < first + BATCH; s++)
		total += weighted ? (float)weight_of(s) : 1;
	for (int s = first; s < first + BATCH; s++) {
		double h[UNITS], y = n->p[LAST];
		for (int k = 0; k < UNITS; k++) {
			double a = n->p[BIAS + k];
			for (int i = 0; i < INPUTS; i++)
				a += n->p[FIRST + k * INPUTS + i] * (float)input_of(s, i);
			h[k] = tanh(a);
			y += n->p[SECOND + k] * h[k];
		}
		const double d = 2 * (y - (float)target_of(s)) / total *
		                 (weighted ? (float)weight_of(s) : 1);
		g[LAST] += d;
		for (int k = 0; k < UNITS; k++) {
			const double da = d * n->p[SECOND + k] * (1 - h[k] * h[k]);
			g[SECOND + k] += d * h[k];
			g[BIAS + k] += da;
			for (int i = 0; i < INPUTS; i++)
				g[FIRST + k * INPUTS + i] += da * (float)input_of(s, i);
		}
	}
}

static void adam(struct net *n, const double *g, int64_t own)
{
	for (int i = 0; i < PARAMS; i++) {
		n->m[i] = 0.9 * n->m[i] + 0.1 * g[i];
		n->v[i] = 0.999 * n->v[i] + 0.001 * g[i] * g[i];
		n->p[i] -= 0.02 * n->m[i] / (1 - pow(0.9, (double)own + 1)) /
		           (sqrt(n->v[i] / (1 - pow(0.999, (double)own + 1))) + 1e-8);
	}
}

static void descend(struct net *n, const double *g, int64_t own)
{
	const double rate = 0.05 * pow(0.5, (double)(own / 3));
	for (int i = 0; i < PARAMS; i++) {
		n->m[i] = 0.9 * n->m[i] + g[i];
		n->p[i] -= rate * n->m[i];
	}
}

static void compare(const struct session *s, const char *name, const struct net *n,
                    double tolerance)
{
	double p[PARAMS];
	read_net(s, name, p);
	for (int i = 0; i < PARAMS; i++)
		if (fabs(p[i] - n->p[i]) > tolerance)
			fail_msg("parameter %d of %s is %.9g, expected %.9g", i, name, p[i], n->p[i]);
}

static void train_in_turn(const char *device, double tolerance)
{
	struct session *s = open_run(device);
	struct net u = { 0 }, v = { 0 };
	struct train_result r;
	double g[PARAMS];
	read_net(s, "u", u.p);
	read_net(s, "v", v.p);
	for (int step = 0; step < STEPS; step++) {
		const int own = step / 3, first = step % 2 * BATCH;
		gradient(step % 3 ? &v : &u, first, step % 3, g);
		if (step % 3)
			descend(&v, g, 2 * own + step % 3 - 1);
		else
			adam(&u, g, own);
	}
	int rc = train(s, &(struct train_options){ .progress = 3 }, &r);
	if (rc < 0)
		err_print(stderr, "test_objectives");
	assert_int_equal(rc, 0);
	assert_int_equal(r.step, STEPS);
	compare(s, "u", &u, tolerance);
	compare(s, "v", &v, tolerance);
	assert_null(store_find(s->store, "v.first.weight.exp_avg"));
	session_close(s);
}

static void the_reference_trains_both_in_turn(void **state)
{
	(void)state;
	train_in_turn("reference", 1e-6);
}

static void the_processor_trains_both_in_turn(void **state)
{
	(void)state;
	train_in_turn("cpu", 1e-5);
}

static void turns_are_functions_of_the_step(void **state)
{
	(void)state;
	const struct objective v[] = { { .times = 2 }, { .times = 3 }, { .times = 1 } };
	const struct objectives o = { v, 3 };
	int64_t made[3] = { 0 };
	for (int64_t step = 0; step < 50; step++) {
		for (int k = 0; k < 3; k++)
			assert_int_equal(objective_steps(&o, k, step), made[k]);
		const struct turn t = objective_turn(&o, step);
		const int64_t at = step % 6;
		assert_int_equal(t.objective, at < 2 ? 0 : at < 5 ? 1 : 2);
		assert_int_equal(t.step, made[t.objective]++);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_functions_of_the_step),
		cmocka_unit_test(the_reference_trains_both_in_turn),
		cmocka_unit_test(the_processor_trains_both_in_turn),
	};
	char path[128];
	snprintf(folder, sizeof folder, "objectives.%ld", (long)getpid());
	snprintf(path, sizeof path, "%s/two.dlx", folder);
	if (io_mkdirs(folder) < 0)
		return 1;
	log_init("test_objectives", 0, 1);
	write_record(path);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	io_remove_tree(folder);
	return failed;
}
