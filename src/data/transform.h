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

/* Checks the syntax of the list's entries (may be NULL), without data. key: the list's key in
 * section `data`. evaluation: transforms that act only in training are mistakes. Reports every
 * mistake. */
int transform_check(struct arena *a, const struct ynode *list, const char *key, bool evaluation);

/* The number of channels after the list's last `channels` entry, found without data, and *loc, the
 * location of that entry; 0: there is no such entry. The list must have been checked. */
int64_t transform_channels(struct arena *a, const struct ynode *list, struct loc *loc);

/* Appends "; cast, flip": the names of the transforms that act in training, or in evaluation;
 * nothing if there are none. A crop is given by its extents. The list must have been checked. */
void transform_names(struct arena *a, const struct ynode *list, bool training, struct buf *out);

struct transform_chain;
struct transform_scratch;

/* The types of a batch's arrays, and the transforms that the reader of the batch (a device) has to
 * do. */
struct transform_rest {
	enum dtype input, target;
	bool values;                        /* inputs are as stored: the reader converts them, then
	                                     * applies the steps */
	int64_t steps, mask;                /* as in op/normalize_input.h */
	const float *table;
};

struct transform_options {
	const struct dataset *data;
	const struct dataset *statistics;   /* NULL: data */
	bool no_statistics;                 /* the statistics of `data` must not be used, and there are
	                                     * no others */
	int size;                           /* index of the samples' size among the sizes of data */
	const struct ynode *list;           /* NULL or Y_NULL: no transforms */
	bool own_list;                      /* the list is for evaluation only, so a crop in it is
	                                     * intended */
	bool training;
	uint64_t seed;
	enum dtype target_dtype;
	int64_t classes, ignore;            /* labels that the loss accepts, as in struct
	                                     * loader_options; classes 0: labels are not checked */
	/* Leave inputs (targets) as they are stored, and leave the transforms of their values to the
	 * reader, if that gives the same values and does not make the batch larger. */
	bool stored_input, stored_target;
	/* BF16 or F16 if readers use inputs in this precision only: inputs of wider types are rounded
	 * to it after the last transform, as a GPU rounds. F32: they are not rounded. */
	enum dtype rounded;
};

/* Sets o's list to the config's list for training if o->training, else to that for evaluation and
 * prediction. */
void transform_choose_list(struct transform_options *o, const struct data_config *c);

/* Plans a chain. Reports all mistakes it finds (E_CONFIG, E_SHAPE), each with its location. o is
 * borrowed only during the call. */
int transform_chain_new(struct transform_chain **out, const struct transform_options *o);
void transform_chain_free(struct transform_chain *t);                 /* NULL is fine */
/* Shapes of a sample after the last transform. */
const struct shape *transform_input_shape(const struct transform_chain *t);
const struct shape *transform_target_shape(const struct transform_chain *t);
const struct transform_rest *transform_rest(const struct transform_chain *t);

/* The number of windows of each sample in an epoch (`crop: {per_sample: ...}`): 1 except in
 * training. */
int64_t transform_windows(const struct transform_chain *t);

/* Whether the only transforms are cast and normalize. */
bool transform_only_scales(const struct transform_chain *t);

struct transform_scratch *transform_scratch_new(const struct transform_chain *t);
void transform_scratch_free(struct transform_scratch *s);             /* NULL is fine */
/* The memory in which transform_run expects the input of the next sample, so that it can be decoded
 * directly to there: as stored, or by transform_take if transform_takes is true. */
void *transform_begin(const struct transform_chain *t, struct transform_scratch *s,
                      void *out_input);
bool transform_takes(const struct transform_chain *t);
/* Converts n stored values, from the input's element `first` on, to their positions in the memory
 * that begins at `begin`: in the type of the transforms, and scaled if the first step scales.
 * Several threads may convert parts of one input. */
void transform_take(const struct transform_chain *t, void *begin, int64_t first,
                    const void *values, int64_t n);
/* Transforms the stored arrays of a sample to the batch's arrays, whose types transform_rest gives.
 * Random choices are a function of (seed, epoch, sample); window w of sample i of n has sample
 * number i + w n. input: as stored, or the pointer that transform_begin returned if the input has
 * been decoded there. E_DATA if the values do not suit a transform. Allocates nothing unless it
 * fails. */
int transform_run(const struct transform_chain *t, struct transform_scratch *s, int64_t epoch,
                  int64_t sample, const void *input, const void *target, void *out_input,
                  void *out_target);

#endif
