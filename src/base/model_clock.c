/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/model_clock.h"

int64_t model_clock;
