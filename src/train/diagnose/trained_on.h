/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a model keeps of the data that it was trained on: a description of the training set, with
 * the statistics that its transforms use, and the lists of transforms. They are texts, which travel
 * with checkpoints and exports; with them a network is evaluated, run and exported where its
 * training data is gone. ckpt/training_texts.h has their names there. */
#ifndef DLX_TRAIN_TRAINED_ON_H
#define DLX_TRAIN_TRAINED_ON_H

#include "ckpt/training_texts.h"

struct arena;
struct session;
struct st_file;

struct trained_on {
	const char *set, *transforms;    /* JSON on one line; NULL where nothing is known */
	const char *target_transforms;
	const char *unscaling;           /* of outputs, where targets are scaled; else NULL */
};

/* Of what s was opened with; in a. */
struct trained_on trained_on_write(const struct session *s, struct arena *a);

/* What an export has as its metadata, in a: pairs, of which it returns the number. */
#define TRAINED_ON_META (2 + 2 * TRAINING_TEXTS)
int trained_on_meta(const struct session *s, struct arena *a, const char *meta[TRAINED_ON_META]);

/* For a command that trains nothing: makes s->train_set of what is kept with the checkpoint
 * `which` (as in ckpt_load) or, where the run has none, with model.init_from. Leaves NULL, with a
 * note, where nothing is kept there. A note too if the config has other transforms. E_NOINPUT where
 * there are no weights at all, but for an export, which may be of the first values. Collective. */
int trained_on_find(struct session *s, const char *which);

/* For a training with `data.statistics: init_from`: gives s->train_set the statistics of
 * model.init_from, or those of the checkpoint that the training goes on from (resume, as in
 * ckpt_load; NULL: it begins). Does nothing otherwise. E_DATA where there are none, or they are of
 * other data. Collective. */
int trained_on_adopt(struct session *s, const char *resume);

/* For a training that begins with the weights of f, a file of this name: notes where they were
 * trained with other statistics than s has, or with other transforms of targets. */
void trained_on_compare(const struct session *s, const char *name, const struct st_file *f);

#endif
