/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/target_seen.h"

#include <math.h>

#include "base/log.h"

#define FEW 256                  /* classes that floats may be the numbers of */

void target_seen_add(struct target_seen *s, const double *v, int64_t n)
{
	for (int64_t i = 0; i < n && !s->other; i++) {
		if (v[i] >= 0 && v[i] < RECORD_MAX_CLASSES && v[i] == floor(v[i]))
			s->seen[(int)v[i]] = true;
		else
			s->other = true;
	}
}

void target_seen_merge(struct target_seen *s, const struct target_seen *other)
{
	s->other |= other->other;
	for (int i = 0; i < RECORD_MAX_CLASSES; i++)
		s->seen[i] |= other->seen[i];
}

/* The largest value below `below`, or -1. */
static int largest(const struct target_seen *s, int below)
{
	int k = below - 1;
	while (k >= 0 && !s->seen[k])
		k--;
	return k;
}

void target_seen_tell_labels(const struct target_seen *s)
{
	const int last = largest(s, RECORD_MAX_CLASSES), next = last < 0 ? -1 : largest(s, last);
	if (s->other || next < 0 || last < 2 * next + 2)
		return;
	if (next == 0 && last == UINT8_MAX)
		warn("the labels are 0 and 255, which makes 256 classes; a mask of two classes is "
		     "converted with --classes 128");
	else
		warn("the labels are 0 to %d and %d, which makes %d classes; if %d means no class, "
		     "convert with --ignore %d", next, last, last + 1, last, last);
}

void target_seen_tell_field(const struct target_seen *s)
{
	const int last = largest(s, RECORD_MAX_CLASSES);
	if (!s->other && last > 0 && last < FEW)
		warn("all values of the target are whole numbers from 0 to %d, stored as floats; if they "
		     "are class numbers, convert with --labels%s", last,
		     last == 1 ? "; flags of classes, for the loss binary_cross_entropy, are right so"
		               : "");
}
