/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/diagnose/left_out.h"

#include <string.h>

#include "base/mem.h"
#include "plan/guard.h"

enum left_out left_out_why(const double *before, const double *after)
{
	if (after[GUARD_NONFINITE] > before[GUARD_NONFINITE])
		return LEFT_OUT_NONFINITE;
	return after[GUARD_OUTLIERS] > before[GUARD_OUTLIERS] ? LEFT_OUT_OUTLIER : LEFT_OUT_NOT;
}

int left_out_read(const struct session *s, double *guard)
{
	const struct store_entry *e = store_find(s->store, GUARD_STATE);
	memset(guard, 0, GUARD_TOLD * sizeof *guard);
	if (!e)
		return 0;
	double *all = mem_alloc((size_t)shape_count(&e->shape) * sizeof *all);
	int rc = store_get(e, DTYPE_F64, all);
	if (rc == 0)
		memcpy(guard, all, GUARD_TOLD * sizeof *guard);
	mem_free(all);
	return rc;
}

void left_out_text(enum left_out why, const double *guard, double loss, struct buf *out)
{
	if (why == LEFT_OUT_NONFINITE)
		buf_printf(out, "left out, since its loss (%g) or gradient is not finite", loss);
	else
		buf_printf(out, "left out as an outlier: its loss %g has a z-score of %.1f, its gradient's "
		           "norm %g one of %.1f", loss, guard[GUARD_LOSS_Z], guard[GUARD_NORM],
		           guard[GUARD_NORM_Z]);
}

void left_out_json(enum left_out why, const double *guard, double loss, struct buf *out)
{
	buf_printf(out, ", \"why\": \"%s\"", why == LEFT_OUT_NONFINITE ? "nonfinite" : "outlier");
	buf_json_member(out, "loss", loss);
	if (why == LEFT_OUT_OUTLIER) {
		buf_json_member(out, "loss_z", guard[GUARD_LOSS_Z]);
		buf_json_member(out, "gradient_norm", guard[GUARD_NORM]);
		buf_json_member(out, "gradient_z", guard[GUARD_NORM_Z]);
	}
	buf_printf(out, ", \"in_a_row\": %.0f", guard[GUARD_IN_A_ROW]);
}
