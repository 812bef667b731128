/* SPDX-License-Identifier: BSD-3-Clause
 *
 * States of training for the crash tests. Every bit of a state follows from the run's number and
 * from how many saves the run has made, so that a version which loads can be distinguished from all
 * others. */
#ifndef DLX_TEST_CRASH_STORY_STATE_H
#define DLX_TEST_CRASH_STORY_STATE_H

#include "base/buf.h"
#include "ckpt/ckpt.h"

#define STORY_TENSORS 6
#define STORY_SCALARS 2

struct story_state {
	struct ckpt_state state;
	struct ckpt_tensor tensor[STORY_TENSORS];
	struct ckpt_scalar scalar[STORY_SCALARS];
	struct ckpt_metric metric;
	float *weight;                 /* of `size` elements, owned */
	float frozen[160], slow[150];
	double moment[3];
	uint16_t half[5];
	char text[STORY_SCALARS][24], config[48];
};

/* size: of the one tensor that differs between all saves; STORY_SIZE for a small store. */
#define STORY_SIZE 1250
void story_state_make(struct story_state *f, int run, int save, int size);
void story_state_release(struct story_state *f);
/* Finds the run and the save whose bits v has. false: there is none; why: the first difference. */
bool story_state_is(const struct ckpt_version *v, int *run, int *save, int size, struct buf *why);

#endif
