/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list `data.transforms`: what happens to a sample between the record file and the batch. A
 * chain is planned once (options read, shapes followed, statistics carried along, every mistake
 * reported with its place) and then run on samples by any number of threads, each with a
 * scratch of its own.
 *
 * Inputs are float32 from the start, unless their values are left to a device (struct
 * transform_rest), and may be rounded to 16 bits at the end. Value transforms (cast, normalize,
 * normalize_sample, log1p, sqrt, noise, brightness, contrast) change the input only, and so does
 * the choice of channels. Spatial ones (roll, flip, symmetry, rotate90, rotate, zoom, elastic,
 * crop, pad) move the input's last axes and, if the target ends in the same extents, the target
 * with them; any other target (a label, a vector) stays. Random ones act in training only; a random
 * crop becomes a centre crop, or is left out (`crop: {validation: ...}`).
 *
 * Statistics are those of the stored data and are carried through the transforms before: after
 * {cast: 255}, `normalize` knows the divided mean. Through log1p and sqrt only minimum and
 * maximum can be carried, through normalize_sample nothing. Random transforms change none, so
 * that training and validation have the same. */
#ifndef DLX_DATA_TRANSFORM_H
#define DLX_DATA_TRANSFORM_H

#include "data/loader.h"

extern const struct variant data_transforms[];

/* Whether the entries of the list (may be NULL), which is the value of this key of section `data`,
 * are written as their tables say, found without data. A list for evaluation may have none that
 * acts in training alone. Reports every mistake. */
int transform_check(struct arena *a, const struct ynode *list, const char *key, bool evaluation);

/* How many channels the list, which has been checked, leaves by its last choice of them, found
 * without data, and *loc, where that is; 0: it chooses none. */
int64_t transform_channels(struct arena *a, const struct ynode *list, struct loc *loc);

/* Appends "; cast, flip": the names of those in the list, which has been checked, that act in
 * training or elsewhere. Nothing where there are none; the extents give the crop. */
void transform_names(struct arena *a, const struct ynode *list, bool training, struct buf *out);

struct transform_chain;
struct transform_scratch;

/* The types of a batch's arrays, and the transforms that are left to the reader of the batch. */
struct transform_rest {
	enum dtype input, target;
	bool values;                        /* inputs are as stored: convert
	                                     * them, then take the steps */
	int64_t steps, mask;                /* as op/normalize_input.h has them */
	const float *table;
};

struct transform_options {
	const struct dataset *data;
	const struct dataset *statistics;   /* NULL: data */
	bool no_statistics;                 /* those of data are not meant, and there are no others */
	int size;                           /* of data's samples: the number of theirs */
	const struct ynode *list;           /* NULL or Y_NULL: no transforms */
	bool own_list;                      /* which is for evaluation alone: a crop is meant there */
	bool training;
	uint64_t seed;
	enum dtype target_dtype;
	int64_t classes, ignore;            /* of labels that the loss counts, as of struct
	                                     * loader_options; classes 0: labels are not checked */
	/* Leave inputs (targets) as they are stored, and what changes their values to others, where
	 * that gives the same values and makes the batch no larger. */
	bool stored_input, stored_target;
	/* BF16 or F16, which is all that is read of inputs: those that would have more bytes are
	 * rounded to it after the last transform, as a GPU rounds. F32: they are not. */
	enum dtype rounded;
};

/* Sets o's list to that of the config for o->training, or for evaluation and prediction. */
void transform_choose_list(struct transform_options *o, const struct data_config *c);

/* Reports all mistakes it finds (E_CONFIG, E_SHAPE), each with its place. o is borrowed for the
 * call only. */
int transform_chain_new(struct transform_chain **out, const struct transform_options *o);
void transform_chain_free(struct transform_chain *t);                 /* NULL is fine */
/* Of a sample after the last transform. */
const struct shape *transform_input_shape(const struct transform_chain *t);
const struct shape *transform_target_shape(const struct transform_chain *t);
const struct transform_rest *transform_rest(const struct transform_chain *t);

/* How many windows of each sample an epoch has (`crop: {per_sample: ...}`): 1 but in training. */
int64_t transform_windows(const struct transform_chain *t);

/* Whether nothing but cast and normalize is done to samples. */
bool transform_only_scales(const struct transform_chain *t);

struct transform_scratch *transform_scratch_new(const struct transform_chain *t);
void transform_scratch_free(struct transform_scratch *s);             /* NULL is fine */
/* Where transform_run will begin with the input of the next sample, and so where it is best decoded
 * to: as it is stored, or by transform_take if the chain takes it. */
void *transform_begin(const struct transform_chain *t, struct transform_scratch *s,
                      void *out_input);
bool transform_takes(const struct transform_chain *t);
/* n stored values from the input's element `first` on, to their places from `begin` on, in the type
 * of the transforms and scaled if their first step does so. Several threads may take parts of one
 * input. */
void transform_take(const struct transform_chain *t, void *begin, int64_t first,
                    const void *values, int64_t n);
/* From the stored arrays to the batch's, whose types transform_rest gives. Random choices are a
 * function of (seed, epoch, sample); window w of sample i is the sample i + w n of n. E_DATA if
 * the values do not suit a transform. input: as stored, or what transform_begin said where the
 * input is there. Allocates nothing unless it fails. */
int transform_run(const struct transform_chain *t, struct transform_scratch *s, int64_t epoch,
                  int64_t sample, const void *input, const void *target, void *out_input,
                  void *out_target);

#endif
