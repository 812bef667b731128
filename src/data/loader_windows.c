/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows of samples, for ranks that share each sample (loader_set_windows). */
#include <string.h>

#include "data/loader_state.h"

int64_t loader_window_count(const struct shape *whole, const struct loader_window *w)
{
	int64_t n = 1;
	for (int i = 0; i < whole->nd; i++)
		n *= i < whole->nd - w->axes ? whole->d[i] : w->size[i - (whole->nd - w->axes)];
	return n;
}

void loader_store_window(const struct shape *whole, const struct loader_window *w, size_t size,
                         const char *from, char *to)
{
	const int first = whole->nd - w->axes;
	int64_t leading = 1, at[LOADER_WINDOW_AXES] = { 0 }, d[LOADER_WINDOW_AXES] = { 1, 1, 1 },
	        n[LOADER_WINDOW_AXES] = { 1, 1, 1 };
	for (int i = 0; i < first; i++)
		leading *= whole->d[i];
	for (int i = 0; i < w->axes; i++) {
		const int k = LOADER_WINDOW_AXES - w->axes + i;
		at[k] = w->begin[i];
		n[k] = w->size[i];
		d[k] = whole->d[first + i];
	}
	for (int64_t c = 0; c < leading; c++)
		for (int64_t z = 0; z < n[0]; z++)
			for (int64_t y = 0; y < n[1]; y++, to += (size_t)n[2] * size)
				memcpy(to, from + (size_t)(((c * d[0] + at[0] + z) * d[1] + at[1] + y) * d[2] +
				                           at[2]) * size, (size_t)n[2] * size);
}
