/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers are printed with three digits and a unit prefix. */
#include "plan/describe/sizes.h"

#include <stdint.h>
#include <stdio.h>

static const char *scaled(double v, double unit, const char *const *names, char *buf)
{
	int i = 0;
	while (v >= unit && names[i + 1]) {
		v /= unit;
		i++;
	}
	snprintf(buf, 32, i || v != (double)(int64_t)v ? "%.3g %s" : "%.0f %s", v, names[i]);
	if (v >= 999.5)
		snprintf(buf, 32, "%.0f %s", v, names[i]);
	return buf;
}

const char *bytes_text(double bytes, char *buf)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };
	return scaled(bytes, 1024, names, buf);
}

const char *flops_text(double flops, char *buf)
{
	static const char *const names[] = { "FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP",
		"PFLOP", NULL };
	return scaled(flops, 1000, names, buf);
}
