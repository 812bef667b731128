/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state that a chain of transforms shares with its steps. Private to transform*.c. A step is
 * planned with the state of the chain before it, and updates that state to what holds after it. */
#ifndef DLX_DATA_TRANSFORM_STEP_H
#define DLX_DATA_TRANSFORM_STEP_H

#include "base/arena.h"
#include "data/record.h"
#include "data/transform.h"

/* The axes of a sample: channels, then depth, height, width; missing axes have extent 1. */
struct geometry {
	int64_t c;                       /* channels of the input */
	int64_t tc;                      /* channels of the target, or its number of elements if not
	                                  * paired */
	int64_t d[3];
	int nspatial;                    /* number of axes that exist, the last ones of d */
	bool paired;                     /* the target has the input's spatial axes */
};

/* The state of the chain while it is planned. */
struct chain_state {
	struct arena *a;
	const struct transform_options *o;
	const struct dataset_info *info;
	enum dtype stored;               /* stored type of the input in the set that the statistics are
	                                  * from */
	struct geometry g;
	struct channel_stats *stats;     /* statistics of each channel; NaN: no longer known */
	const char **lost_after;         /* for each channel: name of the transform after which its
	                                  * statistics are no longer known, or NULL */
	const char **channel_names;      /* names of the g.c channels, NULL-terminated; "" if unnamed */
	int mask;                        /* channel of the record's mask among the current channels; -1:
	                                  * none */
	int64_t windows;                 /* windows of each sample in an epoch, of all crops so far */
	bool maps;                       /* in the training set, targets have the input's spatial
	                                  * axes */
	bool of_target;                  /* the channels are the target's (target_transforms.c) */
	const struct step *previous;     /* the step before this one, or NULL */
	int64_t displacements;           /* count of random numbers that elastic steps keep for a
	                                  * sample */
};

struct step {
	const struct transform_op *op;
	struct loc loc;
	int number;                      /* index in the list; gives each step its own random stream */
	const void *options;
	struct geometry before, after;
	/* value steps */
	float *centre, *scale;           /* x = (x - centre) * scale, per channel; NULL in others */
	bool *active;                    /* per channel */
	int mask;                        /* input channel that marks valid points; -1: none */
	/* spatial steps */
	bool on[3];                      /* axes to roll or flip */
	int64_t pad[3];                  /* elements added before the first one, by axis */
	int pad_mode[3];
	bool target_repeats;             /* the target is padded in the input's mode; else with
	                                  * target_fill */
	uint32_t target_fill;            /* bit pattern of an element */
	const int64_t *kept;             /* step `channels`: for each new channel its old index; NULL in
	                                  * other steps */
	/* warps */
	const struct step *inner;        /* the warp before it, which this step includes; or NULL */
	const struct step *crop;         /* the crop after it, outside of which nothing is computed; or
	                                  * NULL */
	bool target_linear;              /* targets are interpolated linearly; false for labels */
	int64_t displacement;            /* elastic: index of its first random number in
	                                  * frame.displacements */
	bool training;
	bool joins;                      /* the previous step includes this one */
	bool idle;                       /* it has no effect here and is skipped */
};

/* A sample during the transforms. Each array has two buffers; steps that move data read one buffer,
 * write the other and swap them. */
struct frame {
	void *x, *spare_x;               /* input (C, D, H, W): float; or as stored if the reader
	                                  * changes the values; or rounded if only moves follow */
	void *t, *spare_t;               /* target: int32_t or float, or as stored */
	size_t size, target_size;        /* bytes of an element */
	int32_t *map[3], *target_map[3]; /* by axis: source index of each output index, or -1 */
	double *row;                     /* scratch: three numbers for each point of a row */
	double *displacements;
	uint64_t seed;
	int64_t epoch, sample;
};

struct transform_op {
	int (*plan)(struct chain_state *p, struct step *s); /* sets s, changes p */
	int (*run)(const struct step *s, struct frame *f);
	bool random;                                        /* left out when not training */
	/* Checks the options without data; may be NULL. */
	int (*check)(const void *options, const struct loc *loc);
	/* Warps (transform_warp.h). place: the input coordinates, in points along each axis, of the n
	 * output points of a row. draw: draws the random numbers of a sample beforehand; or NULL. */
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
/* Keys for data.target_transforms, which have no mask channel. */
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
	const struct step *scale;        /* an affine step that is applied during the conversion; NULL:
	                                  * none */
	bool large;                      /* the array does not fit in caches */
};
/* Whether the first of these steps is applied during the conversion to float32 or a rounded
 * type. */
bool intake_scales(const struct step *step, int n);
/* Plans how the input of a chain is converted from the stored type. If `to` is a 16-bit type other
 * than the stored type, or if there is a step to apply, values are rounded to `to` as a GPU rounds:
 * all NaNs become the same NaN. */
struct intake intake_plan(enum dtype from, enum dtype to, const struct step *step, int n,
                          int64_t count);
bool intake_changes(const struct intake *i);
void intake_take(const struct intake *i, void *begin, int64_t first, const void *values, int64_t n);

/* --- batches as stored (transform_stored.c) --- */

/* Whether the changes of values by these steps can be left to the device; they are then described
 * in `rest`. */
bool stored_input_plan(struct arena *a, const struct step *step, int n, int64_t channels,
                       enum dtype stored, struct transform_rest *rest);
/* Whether none of these steps changes or interpolates values. */
bool stored_only_moves(const struct step *step, int n);
/* Removes the steps that were left to the device; returns the number of remaining steps. */
int stored_keep_places(struct step *step, int n);
/* Whether all steps are affine, x * factor + shift. */
bool stored_only_scales(const struct step *step, int n);
/* Changes rest->target, the type wanted, to the stored type if that is more efficient. target: the
 * shape of the target after the steps. */
void stored_target_plan(struct step *step, int n, const struct dataset_info *info,
                        const struct shape *target, struct transform_rest *rest);
/* Sets start to the first index, along each axis, of the window of the crop s. */
void crop_start(const struct step *s, const struct frame *f, int64_t start[3]);
/* Whether the pad s puts zeros before and after axis k. */
bool pad_is_zeros(const struct step *s, int k);

/* --- for the steps --- */

/* A random number in [0, 1), a function of (seed, epoch, sample, step, axis). */
double frame_uniform(const struct frame *f, const struct step *s, int axis);
/* A random integer in [0, n), likewise. */
int64_t frame_below(const struct frame *f, const struct step *s, int axis, int64_t n);
/* The step's own stream of random numbers for this sample, for rng.h; the stream's steps are
 * epochs. */
uint64_t frame_stream(const struct frame *f, const struct step *s);
/* Swap the two buffers, after a step has written x (t) to the spare one. */
void frame_swap_input(struct frame *f);
void frame_swap_target(struct frame *f);

/* Checks that the inputs have spatial axes, with extents that the index maps can hold. */
int step_check_spatial(const struct chain_state *p, const struct step *s);

/* Checks that a label which a step creates is a class, or the label that does not count. what:
 * where the label comes from, for the message. */
int step_check_label(const struct chain_state *p, const struct step *s, int64_t label,
                     const char *what);

/* Checks that an option is one number, or a range. */
int range_check(const struct floats *v, const char *key, const struct loc *loc);

/* *mask: the channel that the option `mask` names (text); "auto": the record's mask; -1 if text is
 * NULL. */
int step_find_mask(const struct chain_state *p, const struct step *s, const char *text, int *mask);
/* Initialises a step that changes values: no channel is active yet. */
void step_begin_values(struct chain_state *p, struct step *s, int mask);
/* Sets s->active for the channels in `names`; if that is empty, for all except the mask. Returns
 * the number of active channels, or an error. */
int step_choose_channels(const struct chain_state *p, struct step *s, const struct strings *names);
/* Records that the mean and deviation of channel c are unknown after the transform of this name. */
void step_lose_moments(struct chain_state *p, int64_t c, const char *transform);

#endif
