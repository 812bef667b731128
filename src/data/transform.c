/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chains of transforms: plans the steps of `data.transforms` one after another and runs them on
 * samples. The steps themselves are in files by what they do: transform_value.c,
 * transform_function.c, transform_sample.c and transform_jitter.c change values, transform_space.c,
 * transform_symmetry.c and transform_place.c move them, transform_channels.c keeps some. */
#include "data/transform.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/transform_step.h"

#define ROW(name_, doc_, ...)                                                       \
	{                                                                               \
		.name = #name_, .doc = doc_, .fields = transform_##name_##_fields,          \
		.size = sizeof(struct name_##_options),                                     \
		.own = &(const struct transform_op){ .plan = name_##_plan, __VA_ARGS__ },   \
	}

const struct variant data_transforms[] = {
	ROW(cast, "integers to the range 0 to 1: every channel divided by one number",
	    .run = affine_run),
	ROW(normalize, "every channel to mean 0 and deviation 1, or to the range 0 to 1",
	    .run = affine_run),
	ROW(normalize_sample,
	    "as normalize, but by each sample's own statistics, or divided by its mean",
	    .run = normalize_sample_run),
	ROW(log1p, "log(1 + x), for quantities of many magnitudes such as rain", .run = log1p_run),
	ROW(sqrt, "the square root, for intensities", .run = sqrt_run),
	ROW(channels, "some of the channels: the network's input has no others", .run = channels_run,
	    .check = channels_check),
	ROW(roll, "in training: a random cyclic shift along periodic axes", .run = roll_run,
	    .random = true),
	ROW(flip, "in training: a random mirror image along axes", .run = flip_run, .random = true),
	ROW(symmetry,
	    "in training: a random symmetry of a cube or a square, axes permuted and mirrored; "
	    "components of a vector in the channels are not turned with them", .run = symmetry_run,
	    .random = true),
	ROW(rotate90, "in training: a random number of quarter turns about an axis",
	    .run = rotate90_run, .random = true),
	ROW(rotate, "in training: a rotation by a random angle", .run = warp_run, .random = true,
	    .check = rotate_check, .place = rotate_place),
	ROW(zoom, "in training: a random magnification about the middle", .run = warp_run,
	    .random = true, .check = zoom_check, .place = zoom_place),
	ROW(elastic, "in training: a random smooth deformation", .run = warp_run, .random = true,
	    .check = elastic_check, .place = elastic_place, .draw = elastic_draw),
	ROW(noise, "in training: normal random numbers are added to the values", .run = noise_run,
	    .random = true),
	ROW(brightness, "in training: a random number is added to all values", .run = brightness_run,
	    .random = true, .check = brightness_check),
	ROW(contrast, "in training: a random factor of what differs from the mean",
	    .run = contrast_run, .random = true, .check = contrast_check),
	ROW(crop, "in training: a random window; validation and prediction see the "
	    "whole field, or its centre", .run = crop_run),
	ROW(pad, "pads evenly on both sides, to a multiple of a size", .run = pad_run),
	{ 0 },
};

static const struct transform_op *op_of(const struct variant *v)
{
	return v->own;
}

struct transform_chain {
	struct arena *a;
	const struct dataset *data;
	enum dtype input_dtype, stored_target;
	enum dtype moved;                /* type of the input between the steps */
	struct transform_rest rest;
	struct intake intake, outlet;    /* the outlet rounds where `moved` is not the batch's type */
	int64_t stored_input_count, stored_target_count;
	uint64_t seed;
	int64_t windows;
	int n;
	struct step *step;
	struct geometry last;
	int64_t max_input, max_target, max_extent[3];
	int64_t displacements;
	struct shape input, target;
};

struct transform_scratch {
	struct frame f;
	void *x[2], *t[2];               /* the frame's buffers, of memory */
	bool swapped_x, swapped_t;       /* the last sample's result was in the second buffer */
	void *memory;
	size_t bytes;
};

double frame_uniform(const struct frame *f, const struct step *s, int axis)
{
	const uint64_t index =
	    ((uint64_t)f->sample * 64 + (uint64_t)s->number % 64) * 4 + (uint64_t)axis;
	return rng_uniform(f->seed, hash_name("data.transforms"), (uint64_t)f->epoch, index);
}

uint64_t frame_stream(const struct frame *f, const struct step *s)
{
	return hash_name("data.transforms/elements") + (uint64_t)f->sample * 64 +
	       (uint64_t)s->number % 64;
}

int64_t frame_below(const struct frame *f, const struct step *s, int axis, int64_t n)
{
	return (int64_t)(frame_uniform(f, s, axis) * (double)n);
}

static void swap(void **a, void **b)
{
	void *kept = *a;
	*a = *b;
	*b = kept;
}

void frame_swap_input(struct frame *f)
{
	swap(&f->x, &f->spare_x);
}

void frame_swap_target(struct frame *f)
{
	swap(&f->t, &f->spare_t);
}

/* --- the shapes a chain starts from --- */

static struct geometry geometry_of(const struct dataset_info *i)
{
	struct geometry g = { .c = i->input.d[0], .d = { 1, 1, 1 }, .nspatial = i->input.nd - 1 };
	const int lead = i->target.nd - g.nspatial;   /* axes of the target before the spatial ones */
	for (int k = 0; k < g.nspatial; k++)
		g.d[3 - g.nspatial + k] = i->input.d[1 + k];
	g.paired = lead <= 1 && record_target_is_map(&i->input, &i->target, i->target_dtype);
	if (g.paired)
		g.tc = lead == 1 ? i->target.d[0] : 1;
	else
		g.tc = shape_count(&i->target);
	return g;
}

static int64_t points(const struct geometry *g)
{
	return g->d[0] * g->d[1] * g->d[2];
}

static int64_t target_count(const struct geometry *g)
{
	return g->paired ? g->tc * points(g) : g->tc;
}

static struct shape input_shape(const struct geometry *g)
{
	struct shape s = { .nd = 1 + g->nspatial, .d = { g->c } };
	for (int k = 0; k < g->nspatial; k++)
		s.d[1 + k] = g->d[3 - g->nspatial + k];
	return s;
}

static struct shape target_shape(const struct geometry *g, const struct shape *stored)
{
	struct shape s = *stored;
	for (int k = 0; g->paired && k < g->nspatial; k++)
		s.d[s.nd - g->nspatial + k] = g->d[3 - g->nspatial + k];
	return s;
}

/* Marks the statistics of all channels as unknown; the count of 1 says only that there are
 * values. */
static void forget(struct chain_state *p)
{
	for (int64_t c = 0; c < p->g.c; c++)
		p->stats[c] = (struct channel_stats){ 1, NAN, NAN, NAN, NAN };
}

static void start_chain(struct chain_state *p, struct arena *a, const struct transform_options *o)
{
	const struct dataset *source = o->statistics ? o->statistics : o->data;
	p->a = a;
	p->o = o;
	p->info = dataset_info_of(o->data, o->size);
	p->stored = dataset_info(source)->input_dtype;
	p->g = geometry_of(p->info);
	p->mask = p->info->mask;
	p->windows = 1;
	p->maps = geometry_of(dataset_info(source)).paired;
	p->stats = arena_copy(a, dataset_statistics(source), (size_t)p->g.c * sizeof(*p->stats));
	p->lost_after = ARENA_ARRAY(a, const char *, p->g.c + 1);
	p->channel_names = ARENA_ARRAY(a, const char *, p->g.c + 1);
	if (o->no_statistics)
		forget(p);
	for (int64_t c = 0; c < p->g.c; c++)
		p->channel_names[c] = p->info->input_channels ? p->info->input_channels[c] : "";
}

/* --- planning --- */

/* Channel names may differ between sets, but the training set's names must not occur in another
 * order: statistics and networks use channel numbers. */
static int check_order(const struct transform_options *o, const struct dataset_info *d,
                       const struct dataset_info *s)
{
	int64_t within;
	for (int64_t c = 0; d->input_channels && s->input_channels && c < d->input.d[0]; c++)
		for (int64_t k = 0; k < c; k++)
			if (strcmp(d->input_channels[c], s->input_channels[k]) == 0 &&
			    strcmp(d->input_channels[c], s->input_channels[c]) != 0)
				return ERR(E_DATA, NULL, "'%s': input channel %lld is '%s', which is number "
				           "%lld in the training set", dataset_locate(o->data, 0, &within),
				           (long long)c, d->input_channels[c], (long long)k);
	return 0;
}

static int check_sets(const struct transform_options *o)
{
	const struct dataset_info *d = dataset_info(o->data);
	const struct dataset_info *s = o->statistics ? dataset_info(o->statistics) : d;
	int64_t within;
	if (d->input.d[0] != s->input.d[0])
		return ERR(E_DATA, NULL, "'%s' has %lld input channels, the training set has %lld",
		           dataset_locate(o->data, 0, &within), (long long)d->input.d[0],
		           (long long)s->input.d[0]);
	TRY(check_order(o, d, s));
	if (o->target_dtype == DTYPE_I32 && dtype_is_float(d->target_dtype))
		return ERR(E_DATA, NULL, "'%s': targets are %s fields, but the loss needs class labels; %s",
		           dataset_locate(o->data, 0, &within), dtype_name(d->target_dtype),
		           dtype_is_float(d->input_dtype) || d->input.d[0] > 1 ? "class numbers stored as "
		           "floats are converted with 'dlx-convert --labels', "
		           "fields need a loss such as mse, flags of 0 and 1, of several classes at once, "
		           "binary_cross_entropy" : "the input is one channel of integers: were "
		           "--input and --target of dlx-convert swapped?");
	return 0;
}

static void extend(struct transform_chain *t, const struct geometry *g)
{
	const int64_t n = g->c * points(g), tn = target_count(g);
	t->max_input = n > t->max_input ? n : t->max_input;
	t->max_target = tn > t->max_target ? tn : t->max_target;
	for (int k = 0; k < 3; k++)
		t->max_extent[k] = g->d[k] > t->max_extent[k] ? g->d[k] : t->max_extent[k];
}

/* Combines the last step with the step s after it: a warp includes the last one, a crop is attached
 * to it. */
static void join(struct transform_chain *t, struct arena *a, const struct step *s)
{
	struct step *last = &t->step[t->n - 1];
	if (s->op->place) {
		*last = *s;
	} else {
		last->crop = arena_copy(a, s, sizeof *s);
		last->after = s->after;
	}
}

static int plan_step(struct transform_chain *t, struct chain_state *p, const struct ynode *entry,
                     int number)
{
	struct step *s = &t->step[t->n];
	struct variant_value v;
	TRY(schema_read_tagged(p->a, entry, data_transforms, "transform", NULL, &v));
	*s = (struct step){ .op = op_of(v.v), .loc = v.loc, .number = number,
	                   .options = v.data,
	                   .mask = -1, .before = p->g, .training = p->o->training };
	if (s->op->random && !p->o->training)
		return 0;      /* whole fields may have extents that the transform does not support */
	p->previous = t->n ? s - 1 : NULL;
	TRYC(s->op->plan(p, s), "in transform '%s'", v.v->name);
	s->after = p->g;
	extend(t, &p->g);
	if (s->joins)
		join(t, p->a, s);
	else
		t->n += !s->idle;
	return 0;
}

static int not_a_list(const struct ynode *list, const char *key)
{
	return ERR(E_CONFIG, &list->loc, "'%s' must be a list, as in "
	           "[{normalize: standard}, {roll: width}]", key);
}

void transform_choose_list(struct transform_options *o, const struct data_config *c)
{
	const struct ynode *own = c->validation_transforms;
	o->own_list = !o->training && own && own->kind != Y_NULL;
	o->list = o->own_list ? own : c->transforms;
}

static int check_entry(struct arena *a, const struct ynode *entry, const char *key,
                       bool evaluation)
{
	struct variant_value v;
	TRY(schema_read_tagged(a, entry, data_transforms, "transform", NULL, &v));
	if (evaluation && op_of(v.v)->random)
		return ERR(E_CONFIG, &v.loc, "'%s' acts in training alone and would do nothing in '%s'",
		           v.v->name, key);
	if (!op_of(v.v)->check)
		return 0;
	TRYC(op_of(v.v)->check(v.data, &v.loc), "in transform '%s'", v.v->name);
	return 0;
}

int transform_check(struct arena *a, const struct ynode *list, const char *key, bool evaluation)
{
	int rc = 0;
	if (!list || list->kind == Y_NULL)
		return 0;
	if (list->kind != Y_SEQ)
		return not_a_list(list, key);
	for (int i = 0; i < list->n; i++) {
		const int one = check_entry(a, list->item[i], key, evaluation);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

int64_t transform_channels(struct arena *a, const struct ynode *list, struct loc *loc)
{
	struct variant_value v;
	int64_t n = 0;
	for (int i = 0; list && list->kind == Y_SEQ && i < list->n; i++) {
		if (schema_read_tagged(a, list->item[i], data_transforms, "transform", NULL, &v) < 0)
			BUG("a list of transforms that nobody has checked");
		if (v.v->fields != transform_channels_fields)
			continue;
		n = ((const struct channels_options *)v.data)->keep.n;
		*loc = v.loc;
	}
	return n;
}

void transform_names(struct arena *a, const struct ynode *list, bool training, struct buf *out)
{
	const char *between = "; ";
	struct variant_value v;
	for (int i = 0; list && list->kind == Y_SEQ && i < list->n; i++) {
		if (schema_read_tagged(a, list->item[i], data_transforms, "transform", NULL, &v) < 0)
			BUG("a list of transforms that nobody has checked");
		if (v.v->fields == transform_crop_fields || (op_of(v.v)->random && !training))
			continue;
		buf_printf(out, "%s%s", between, v.v->name);
		between = ", ";
	}
}

static int plan_list(struct transform_chain *t, struct chain_state *p, const struct ynode *list)
{
	int rc = 0;
	if (!list || list->kind == Y_NULL)
		return 0;
	if (list->kind != Y_SEQ)
		return not_a_list(list, "transforms");
	t->step = ARENA_ARRAY(t->a, struct step, list->n + 1);
	for (int i = 0; i < list->n; i++) {
		const int one = plan_step(t, p, list->item[i], i);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

static void leave_values(struct transform_chain *t, const struct chain_state *p,
                         const struct transform_options *o)
{
	t->rest = (struct transform_rest){ .input = DTYPE_F32, .target = o->target_dtype, .mask = -1 };
	if (o->stored_target)
		stored_target_plan(t->step, t->n, p->info, &t->target, &t->rest);
	struct transform_rest left = t->rest;
	if (o->stored_input)
		stored_input_plan(t->a, t->step, t->n, p->g.c, t->input_dtype, &left);
	if (dtype_is_16bit(o->rounded) && dtype_size(left.input) > dtype_size(o->rounded)) {
		t->rest.input = o->rounded;
	} else if (left.values) {
		t->rest = left;
		t->n = stored_keep_places(t->step, t->n);
	}
}

/* Values that are only moved in later steps are rounded now, so that half the bytes are moved. */
static void plan_types(struct transform_chain *t)
{
	const int scaled = intake_scales(t->step, t->n);
	const bool rounds = !t->rest.values && t->rest.input != DTYPE_F32;
	t->moved = rounds && !stored_only_moves(t->step + scaled, t->n - scaled) ? DTYPE_F32 :
	           t->rest.input;
	t->intake = intake_plan(t->input_dtype, t->moved, t->step, t->n, t->stored_input_count);
	t->outlet = intake_plan(t->moved, t->rest.input, NULL, 0, shape_count(&t->input));
}

int transform_chain_new(struct transform_chain **out, const struct transform_options *o)
{
	struct transform_chain *t = mem_calloc(1, sizeof(*t));
	struct chain_state p = { 0 };
	int rc = check_sets(o);
	*out = NULL;
	t->a = arena_new();
	if (rc == 0) {
		start_chain(&p, t->a, o);
		extend(t, &p.g);
		rc = plan_list(t, &p, o->list);
	}
	if (rc < 0) {
		transform_chain_free(t);
		return rc;
	}
	t->data = o->data;
	t->input_dtype = p.info->input_dtype;
	t->stored_target = p.info->target_dtype;
	t->stored_input_count = shape_count(&p.info->input);
	t->stored_target_count = shape_count(&p.info->target);
	t->seed = o->seed;
	t->last = p.g;
	t->windows = p.windows;
	t->displacements = p.displacements;
	t->input = input_shape(&p.g);
	t->target = target_shape(&p.g, &p.info->target);
	leave_values(t, &p, o);
	plan_types(t);
	*out = t;
	return 0;
}

void transform_chain_free(struct transform_chain *t)
{
	if (!t)
		return;
	arena_free(t->a);
	mem_free(t);
}

const struct shape *transform_input_shape(const struct transform_chain *t)
{
	return &t->input;
}

const struct shape *transform_target_shape(const struct transform_chain *t)
{
	return &t->target;
}

const struct transform_rest *transform_rest(const struct transform_chain *t)
{
	return &t->rest;
}

int64_t transform_windows(const struct transform_chain *t)
{
	return t->windows;
}

bool transform_only_scales(const struct transform_chain *t)
{
	return stored_only_scales(t->step, t->n);
}

/* --- running --- */

struct transform_scratch *transform_scratch_new(const struct transform_chain *t)
{
	struct transform_scratch *s = mem_calloc(1, sizeof(*s));
	const int64_t extent = t->max_extent[0] + t->max_extent[1] + t->max_extent[2];
	const int64_t doubles = 3 * t->max_extent[2] + t->displacements;
	int32_t *maps;

	char *p;

	s->f.size = dtype_size(t->moved);
	s->f.target_size = dtype_size(t->rest.target);
	s->bytes = (size_t)(2 * t->max_input + 2 * t->max_target + 2 * extent) * 4 +
	           (size_t)doubles * sizeof(double);
	s->memory = p = mem_alloc(s->bytes);
	s->f.row = (double *)(void *)p;
	s->f.displacements = s->f.row + 3 * t->max_extent[2];
	p += (size_t)doubles * sizeof(double);
	s->x[0] = p;
	s->x[1] = p + 4 * t->max_input;
	s->t[0] = p + 8 * t->max_input;
	s->t[1] = p + 8 * t->max_input + 4 * t->max_target;
	maps = (int32_t *)(void *)(p + 8 * (t->max_input + t->max_target));
	for (int k = 0; k < 3; k++) {
		s->f.map[k] = maps;
		s->f.target_map[k] = maps + extent;
		maps += t->max_extent[k];
	}
	return s;
}

void transform_scratch_free(struct transform_scratch *s)
{
	if (!s)
		return;
	mem_free(s->memory);
	mem_free(s);
}

static int run_steps(const struct transform_chain *t, struct frame *f)
{
	for (int i = t->intake.scale != NULL; i < t->n; i++) {
		int64_t within;
		int rc = t->step[i].op->run(&t->step[i], f);

		if (rc < 0) {
			const char *path = dataset_locate(t->data, f->sample % dataset_info(t->data)->samples,
			                                  &within);

			err_locate(rc, &t->step[i].loc);
			return err_context(rc, "'%s', sample %lld", path, (long long)within);
		}
	}
	return 0;
}

/* The buffers of an array: `out` is one of them where nothing on the way is larger, the one that it
 * will end in if it goes as last time. */
static void begin_in(void **now, void **spare, void *const own[2], void *out, bool room,
                     bool swapped)
{
	*now = room && !swapped ? out : own[0];
	*spare = room && swapped ? out : own[1];
}

/* Copies the result to `out` if it is elsewhere. Returns whether it was in another buffer than the
 * one where the sample started. */
static bool end_in(const void *now, const void *begun, void *out, size_t bytes)
{
	if (now != out)
		memcpy(out, now, bytes);
	return now != begun;
}

static void begin_input(const struct transform_chain *t, const struct transform_scratch *s,
                        void *out, void **now, void **spare)
{
	const bool room = t->max_input == shape_count(&t->input) && t->moved == t->rest.input;
	begin_in(now, spare, s->x, out, room, s->swapped_x);
}

void *transform_begin(const struct transform_chain *t, struct transform_scratch *s,
                      void *out_input)
{
	void *now, *spare;
	begin_input(t, s, out_input, &now, &spare);
	return now;
}

bool transform_takes(const struct transform_chain *t)
{
	return intake_changes(&t->intake);
}

void transform_take(const struct transform_chain *t, void *begin, int64_t first,
                    const void *values, int64_t n)
{
	intake_take(&t->intake, begin, first, values, n);
}

int transform_run(const struct transform_chain *t, struct transform_scratch *s, int64_t epoch,
                  int64_t sample, const void *input, const void *target, void *out_input,
                  void *out_target)
{
	struct frame *f = &s->f;
	const struct transform_rest *r = &t->rest;
	const int64_t inputs = t->last.c * points(&t->last), targets = target_count(&t->last);
	begin_input(t, s, out_input, &f->x, &f->spare_x);
	begin_in(&f->t, &f->spare_t, s->t, out_target, t->max_target == targets, s->swapped_t);
	const void *x = f->x, *y = f->t;
	f->seed = t->seed;
	f->epoch = epoch;
	f->sample = sample;
	if (input != f->x)
		intake_take(&t->intake, f->x, 0, input, t->stored_input_count);
	dtype_convert(r->target, f->t, t->stored_target, target, t->stored_target_count);
	TRY(run_steps(t, f));
	if (t->moved == r->input)
		s->swapped_x = end_in(f->x, x, out_input, (size_t)inputs * f->size);
	else
		intake_take(&t->outlet, out_input, 0, f->x, inputs);
	s->swapped_t = end_in(f->t, y, out_target, (size_t)targets * f->target_size);
	return 0;
}
