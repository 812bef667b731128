/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The result of a training, as text for people. */
#ifndef DLX_CLI_RESULT_H
#define DLX_CLI_RESULT_H

#include "train/run/loop.h"

void result_text(const struct session *s, const struct train_result *r, struct buf *out);

#endif
