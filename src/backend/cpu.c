/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured ceiling that utilisation figures refer to: oneDNN's own sgemm, warm, best of several. */
#include "backend/cpu.h"

#include <dnnl.h>
#include <stdio.h>

#include "base/io.h"
#include "base/mem.h"

const char *cpu_library_version(void)
{
	static char text[32];
	const dnnl_version_t *v = dnnl_version();
	snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
	return text;
}

#define N 768
#define PEAK_SECONDS 0.05

double cpu_measure_peak(void)
{
	size_t bytes = sizeof(float) * N * N;
	float *m = mem_map(3 * bytes);
	double best = 0, start = io_seconds();
	if (!m)
		return 0;
	for (int i = 0; i < 2 * N * N; i++)
		m[i] = (float)(i % 7) - 3;
	while (io_seconds() - start < PEAK_SECONDS) {
		double t0 = io_seconds();
		if (dnnl_sgemm('N', 'N', N, N, N, 1, m, N, m + N * N, N, 0, m + 2 * N * N, N) != dnnl_success)
			break;
		double rate = 2.0 * N * N * N / (io_seconds() - t0);
		best = rate > best ? rate : best;
	}
	mem_unmap(m, 3 * bytes);
	return best;
}
