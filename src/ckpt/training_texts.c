/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/training_texts.h"

#include <string.h>

static const char *const names[TRAINING_TEXTS] = { TRAINING_SET, TRAINING_TRANSFORMS,
	TRAINING_TARGET_TRANSFORMS, TRAINING_UNSCALING };

bool training_text_is(const char *name)
{
	for (int i = 0; i < TRAINING_TEXTS; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}
