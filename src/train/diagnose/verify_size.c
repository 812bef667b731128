/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/diagnose/verify_size.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/round.h"
#include "plan/extent/whole.h"

#define MOST_POINTS (INT64_C(1) << 21)
#define LEAST_ROWS 8                 /* of a subdomain, so that no layer reads more than neighbours'
                                      * rows */
#define MOST_STRIDES 8               /* strides of a subdomain, of which a network may need several
                                      * to have any output */

static int wrong(const struct session *s, const char *text)
{
	char shape[SHAPE_TEXT];
	return ERR(E_USAGE, NULL, "'--verify-partition=%s': expected one extent, or one for each "
	           "spatial axis with 'x' between them, at most those of a sample, %s", text,
	           shape_text(&s->data.input, shape));
}

static int parse(const struct session *s, const char *text, int64_t *extent)
{
	const int axes = s->data.input.nd - 1;
	const char *at = text;
	char *end;
	int n = 0;
	for (; n < axes; n++) {
		extent[n] = strtoll(at, &end, 10);
		if (end == at || extent[n] < 1 || extent[n] > s->data.input.d[n + 1])
			return wrong(s, text);
		at = end + (*end == 'x');
		if (!*end)
			break;
		if (*end != 'x')
			return wrong(s, text);
	}
	for (int k = 1; k < axes && n == 0; k++) {
		extent[k] = extent[0];
		if (extent[k] > s->data.input.d[k + 1])
			return wrong(s, text);
	}
	return *at || (n > 0 && n != axes - 1) ? wrong(s, text) : 0;
}

/* Whether the network can be built for these samples. */
static bool builds(const struct session *s, const int64_t *extent)
{
	struct plan_data data = s->data;
	struct plan_request r = session_request(s, PLAN_TRAIN, 1);
	data.field = (struct plan_field){ 0 };
	data.target_unknown = true;
	data.rest[PLAN_TRAIN] = NULL;
	for (int k = 0; k < data.input.nd - 1; k++)
		data.input.d[k + 1] = extent[k];
	r.data = &data;
	r.cut.grid.axes = 0;
	const int mark = err_count(), rc = plan_check(&r);
	err_truncate(mark);
	return rc == 0;
}

static int64_t points(const int64_t *extent, int axes)
{
	int64_t n = 1;
	for (int k = 0; k < axes; k++)
		n *= extent[k];
	return n;
}

/* The extents for these strides: `strides` of them for each subdomain, and one more where there are
 * several, so that they are unequal. */
static void set_extents(const struct session *s, const int64_t *stride, int64_t strides,
                        int64_t *extent)
{
	for (int k = 0; k < s->data.input.nd - 1; k++) {
		const int parts = s->cut.grid.parts[k];
		const int64_t want = (parts * strides + (parts > 1)) * stride[k],
		              most = s->data.input.d[k + 1];
		extent[k] = want < most ? want : most;
	}
}

/* Halves the largest stride of the axes that are cut, if the network can then be built: levels
 * beyond that are gathered. */
static bool halve(const struct session *s, int64_t *stride, int64_t strides, int64_t *extent)
{
	int at = -1;
	for (int k = 0; k < s->data.input.nd - 1; k++)
		if (s->cut.grid.parts[k] > 1 && stride[k] % 2 == 0 && (at < 0 || stride[k] > stride[at]))
			at = k;
	if (at < 0)
		return false;
	stride[at] /= 2;
	set_extents(s, stride, strides, extent);
	if (builds(s, extent))
		return true;
	stride[at] *= 2;
	set_extents(s, stride, strides, extent);
	return false;
}

static int choose(const struct session *s, int64_t *extent)
{
	const int axes = s->data.input.nd - 1;
	struct receptive_field r;
	int64_t strides = 1;
	TRY(whole_receptive_field(s, &s->data.input, NULL, &r));
	for (int k = 0; k < axes; k++)
		r.stride[k] *= ceil_div(LEAST_ROWS, r.stride[k]);
	set_extents(s, r.stride, strides, extent);
	while (strides < MOST_STRIDES && !builds(s, extent))
		set_extents(s, r.stride, ++strides, extent);
	while (points(extent, axes) > MOST_POINTS && halve(s, r.stride, strides, extent))
		;
	return 0;
}

int verify_size(const struct session *s, const char *text, int64_t *extent)
{
	return *text ? parse(s, text, extent) : choose(s, extent);
}
