/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a chain of transforms and its steps know of each other. Private to transform*.c. A step
 * is planned against the state of the chain before it and changes that state to what holds
 * after it. */
#ifndef DLX_DATA_TRANSFORM_STEP_H
#define DLX_DATA_TRANSFORM_STEP_H

#include "base/arena.h"
#include "data/record.h"
#include "data/transform.h"

/* A sample's axes: channels, then depth, height, width; those an array lacks are 1. */
struct geometry {
	int64_t c;                       /* channels of the input */
	int64_t tc;                      /* of the target, or its number of elements if not paired */
	int64_t d[3];
	int nspatial;                    /* the last nspatial of d are real */
	bool paired;                     /* the target has the input's spatial axes */
};

/* The state of the chain while it is planned. */
struct chain_state {
	struct arena *a;
	const struct transform_options *o;
	const struct dataset_info *info;
	enum dtype stored;               /* the input's in the set that the statistics are of */
	struct geometry g;
	struct channel_stats *stats;     /* g.c of them; NaN where not known any more */
	const char **lost_after;         /* g.c of them: the transform since
	                                  * which they are not, or NULL */
	const char **channel_names;      /* g.c of them, NULL-terminated; "" where unnamed */
	int mask;                        /* the record's mask, as channels are now; -1: none */
	int64_t windows;                 /* of a sample in an epoch, by all crops so far */
	bool maps;                       /* targets have the input's spatial
	                                  * axes, in the training set */
	bool of_target;                  /* the channels are the target's (target_transforms.c) */
	const struct step *previous;     /* the step that is planned before, or NULL */
	int64_t displacements;           /* numbers that elastic steps keep of a sample */
};

struct step {
	const struct transform_op *op;
	struct loc loc;
	int number;                      /* in the list: separates the random streams */
	const void *options;
	struct geometry before, after;
	/* value steps */
	float *centre, *scale;           /* x = (x - centre) * scale, per channel; NULL in others */
	bool *active;                    /* per channel */
	int mask;                        /* input channel that marks valid points; -1: none */
	/* spatial steps */
	bool on[3];                      /* axes that roll or flip */
	int64_t pad[3];                  /* elements before the first */
	int pad_mode[3];
	bool target_repeats;             /* outside, as the input does, else target_fill */
	uint32_t target_fill;            /* bits of an element */
	const int64_t *kept;             /* channels: of each one after, which it was; NULL in others */
	/* warps */
	const struct step *inner;        /* one before, which is done in this step; or NULL */
	const struct step *crop;         /* the one after it: nothing else is computed; or NULL */
	bool target_linear;              /* targets are interpolated, labels are not */
	int64_t displacement;            /* elastic: where its numbers begin */
	bool training;
	bool joins;                      /* the step before does it, too */
	bool idle;                       /* it changes nothing here and is left out */
};

/* One sample on its way. Two buffers of each array; steps that move data go from one to the
 * other. */
struct frame {
	void *x, *spare_x;               /* (C, D, H, W), float; or as stored if values are left to
	                                  * others; or rounded if nothing but moves is to come */
	void *t, *spare_t;               /* int32_t or float, or as stored */
	size_t size, target_size;        /* bytes of an element */
	int32_t *map[3], *target_map[3]; /* per axis: source index of each output index, or -1 */
	double *row;                     /* three numbers of each point of a row */
	double *displacements;
	uint64_t seed;
	int64_t epoch, sample;
};

struct transform_op {
	int (*plan)(struct chain_state *p, struct step *s); /* sets s, changes p */
	int (*run)(const struct step *s, struct frame *f);
	bool random;                                        /* left out when not training */
	/* What can be wrong with the options whatever the data is; may be NULL. */
	int (*check)(const void *options, const struct loc *loc);
	/* Warps (transform_warp.h): where in the input the n places of a row lead, in points along each
	 * axis; and what is drawn before, for the sample, or NULL. */
	void (*place)(const struct step *s, const struct frame *f, double *const place[3], int64_t n);
	void (*draw)(const struct step *s, struct frame *f);
};

/* --- options, as the user writes them --- */

struct cast_options {
	double divide;               /* NaN: the largest value of the stored integer type */
};
struct normalize_options {
	int method;
	struct strings channels;
	const char *mask;
	struct floats mean, std, min, max;
};
struct normalize_sample_options {
	int method, per;
	struct strings channels;
	const char *mask;
};
struct log1p_options {
	struct strings channels;
};
struct sqrt_options {
	struct strings channels;
	int negative;
};
struct channels_options {
	struct strings keep;
};
struct roll_options {
	struct strings axis;
};
struct flip_options {
	struct strings axis;
	double probability;
};
struct crop_options {
	struct ints size;
	int validation;
	int64_t per_sample;
};
struct pad_options {
	struct ints multiple;
	struct strings mode;
};
struct symmetry_options {
	bool reflections;
};
struct rotate90_options {
	int about;
};
struct warp_options {
	double probability, fill;
	int outside;
	const char *target;
};
struct rotate_options {
	struct warp_options warp;    /* first member of every warp's options */
	struct floats degrees;
	int about;
};
struct zoom_options {
	struct warp_options warp;
	struct floats scale;
};
struct elastic_options {
	struct warp_options warp;
	double magnitude;
	int64_t spacing;
};
struct noise_options {
	double deviation, probability;
	struct strings channels;
};
struct brightness_options {
	struct floats shift;
	int per;
	struct strings channels;
	double probability;
};
struct contrast_options {
	struct floats factor;
	int about, per;
	struct strings channels;
	double probability;
};

extern const struct field transform_cast_fields[], transform_normalize_fields[];
extern const struct field transform_normalize_sample_fields[];
extern const struct field transform_log1p_fields[], transform_sqrt_fields[];
extern const struct field transform_channels_fields[];
extern const struct field transform_roll_fields[], transform_flip_fields[];
extern const struct field transform_symmetry_fields[], transform_rotate90_fields[];
extern const struct field transform_rotate_fields[], transform_zoom_fields[];
extern const struct field transform_elastic_fields[], transform_noise_fields[];
extern const struct field transform_brightness_fields[], transform_contrast_fields[];
extern const char *const warp_outside_names[];
extern const struct field transform_crop_fields[], transform_pad_fields[];
/* Of data.target_transforms, where no channel is a mask. */
extern const struct field target_normalize_fields[], target_log1p_fields[];

int cast_plan(struct chain_state *p, struct step *s);
int normalize_plan(struct chain_state *p, struct step *s);
int affine_run(const struct step *s, struct frame *f);
int normalize_sample_plan(struct chain_state *p, struct step *s);
int normalize_sample_run(const struct step *s, struct frame *f);
int log1p_plan(struct chain_state *p, struct step *s);
int log1p_run(const struct step *s, struct frame *f);
int sqrt_plan(struct chain_state *p, struct step *s);
int sqrt_run(const struct step *s, struct frame *f);
int channels_check(const void *options, const struct loc *loc);
int channels_plan(struct chain_state *p, struct step *s);
int channels_run(const struct step *s, struct frame *f);
int roll_plan(struct chain_state *p, struct step *s);
int roll_run(const struct step *s, struct frame *f);
int flip_plan(struct chain_state *p, struct step *s);
int flip_run(const struct step *s, struct frame *f);
int symmetry_plan(struct chain_state *p, struct step *s);
int symmetry_run(const struct step *s, struct frame *f);
int rotate90_plan(struct chain_state *p, struct step *s);
int rotate90_run(const struct step *s, struct frame *f);
int rotate_check(const void *options, const struct loc *loc);
int rotate_plan(struct chain_state *p, struct step *s);
void rotate_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n);
int zoom_check(const void *options, const struct loc *loc);
int zoom_plan(struct chain_state *p, struct step *s);
void zoom_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n);
int elastic_check(const void *options, const struct loc *loc);
int elastic_plan(struct chain_state *p, struct step *s);
void elastic_draw(const struct step *s, struct frame *f);
void elastic_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n);
int warp_run(const struct step *s, struct frame *f);
int noise_plan(struct chain_state *p, struct step *s);
int noise_run(const struct step *s, struct frame *f);
int brightness_check(const void *options, const struct loc *loc);
int brightness_plan(struct chain_state *p, struct step *s);
int brightness_run(const struct step *s, struct frame *f);
int contrast_check(const void *options, const struct loc *loc);
int contrast_plan(struct chain_state *p, struct step *s);
int contrast_run(const struct step *s, struct frame *f);
int crop_plan(struct chain_state *p, struct step *s);
int crop_run(const struct step *s, struct frame *f);
int pad_plan(struct chain_state *p, struct step *s);
int pad_run(const struct step *s, struct frame *f);

/* --- how a chain begins (transform_take.c) --- */

struct intake {
	enum dtype from, to;
	const struct step *scale;        /* affine_run's that is done on the way; NULL: none is */
	bool large;                      /* the array is larger than what caches keep of it */
};
/* Whether the first of these steps is done on the way into float32 or a rounded type. */
bool intake_scales(const struct step *step, int n);
/* Of the input of a chain of these steps. Where `to` is of 16 bits and not what is stored, or there
 * is something to scale, values are rounded to it, as a GPU does: NaNs become one. */
struct intake intake_plan(enum dtype from, enum dtype to, const struct step *step, int n,
                          int64_t count);
bool intake_changes(const struct intake *i);
void intake_take(const struct intake *i, void *begin, int64_t first, const void *values, int64_t n);

/* --- batches as stored (transform_stored.c) --- */

/* Whether the values of these steps can be left to the device, in `rest`. */
bool stored_input_plan(struct arena *a, const struct step *step, int n, int64_t channels,
                       enum dtype stored, struct transform_rest *rest);
/* Whether none of these steps changes or interpolates values. */
bool stored_only_moves(const struct step *step, int n);
/* Drops the steps that were left; returns how many there are now. */
int stored_keep_places(struct step *step, int n);
/* Whether all steps change values by a factor and a shift alone. */
bool stored_only_scales(const struct step *step, int n);
/* Makes rest->target, which is the type wanted, the stored
 * one where that pays. target: its shape after the steps. */
void stored_target_plan(struct step *step, int n, const struct dataset_info *info,
                        const struct shape *target, struct transform_rest *rest);
/* Where the window of the crop s begins. */
void crop_start(const struct step *s, const struct frame *f, int64_t start[3]);
/* Whether the pad s puts zeros before and after axis k. */
bool pad_is_zeros(const struct step *s, int k);

/* --- for the steps --- */

/* A random number in [0, 1) of (seed, epoch, sample, step, axis). */
double frame_uniform(const struct frame *f, const struct step *s, int axis);
/* A whole one in [0, n). */
int64_t frame_below(const struct frame *f, const struct step *s, int axis, int64_t n);
/* A stream of random numbers of the step's own in this sample, for rng.h; its steps are epochs. */
uint64_t frame_stream(const struct frame *f, const struct step *s);
/* After a step has moved x (t) to the spare buffer. */
void frame_swap_input(struct frame *f);
void frame_swap_target(struct frame *f);

/* That the inputs have spatial axes, of extents that maps can hold. */
int step_check_spatial(const struct chain_state *p, const struct step *s);

/* That labels which a step makes up have a value that the loss takes: a class, or the one that does
 * not count. what: where it comes from. */
int step_check_label(const struct chain_state *p, const struct step *s, int64_t label,
                     const char *what);

/* That an option gives one number, or a range. */
int range_check(const struct floats *v, const char *key, const struct loc *loc);

/* The channel that an option `mask` names, by "auto" the record's; -1 if it is NULL. */
int step_find_mask(const struct chain_state *p, const struct step *s, const char *text, int *mask);
/* Begins a step that changes values: no channel is active yet, all stay as they are. */
void step_begin_values(struct chain_state *p, struct step *s, int mask);
/* Sets s->active for the channels called `names`, or for all but the mask if there are none.
 * Returns how many are active, or an error. */
int step_choose_channels(const struct chain_state *p, struct step *s, const struct strings *names);
/* Records that the mean and deviation of channel c are unknown after the transform of this name. */
void step_lose_moments(struct chain_state *p, int64_t c, const char *transform);

#endif
