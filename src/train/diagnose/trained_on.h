/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the training data's description that is stored with a model: the description of the
 * training set, with the statistics that its transforms use, and the lists of transforms. They are
 * texts in checkpoints and exports (their names: ckpt/training_texts.h), with which a network can
 * be evaluated, run and exported without its training data. */
#ifndef DLX_TRAIN_TRAINED_ON_H
#define DLX_TRAIN_TRAINED_ON_H

#include "ckpt/training_texts.h"

struct arena;
struct session;
struct st_file;

struct trained_on {
	const char *set, *transforms;    /* description of the training set, and its transforms, as JSON
	                                  * on one line; NULL if unknown */
	const char *target_transforms;
	const char *unscaling;           /* the inverse scaling, from outputs to the target's units, if
	                                  * targets are scaled; else NULL */
};

/* Writes these texts for the data with which s was opened; in arena a. */
struct trained_on trained_on_write(const struct session *s, struct arena *a);

/* Sets meta[] to the metadata of an export, as key and value in turn, in arena a. Returns the
 * number of pairs. */
#define TRAINED_ON_META (2 + 2 * TRAINING_TEXTS)
int trained_on_meta(const struct session *s, struct arena *a, const char *meta[TRAINED_ON_META]);

/* For a command that does not train: makes s->train_set from the texts of checkpoint `which` (as in
 * ckpt_load) or, if the run has no checkpoint, of model.init_from. If these have no such texts,
 * leaves NULL and prints a note. Also prints a note if the config has other transforms. E_NOINPUT
 * if there are no weights at all, except for an export, which may be of initial values.
 * Collective. */
int trained_on_find(struct session *s, const char *which);

/* For a training with `data.statistics: init_from`: sets the statistics of s->train_set to those of
 * model.init_from or, if the training resumes, of its checkpoint (resume: as in ckpt_load; NULL: a
 * new run). Does nothing for other trainings. E_DATA if there are no statistics, or if they are of
 * other data. Collective. */
int trained_on_adopt(struct session *s, const char *resume);

/* For a training that begins with the weights in file f, called `name`: prints a note if these were
 * trained with other statistics than those of s, or with other target transforms. */
void trained_on_compare(const struct session *s, const char *name, const struct st_file *f);

#endif
