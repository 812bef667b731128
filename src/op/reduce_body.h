/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of max_grad (reduce.c) for elements of type `real`. NAME(x) appends the backend's
 * suffix to x. */

static int NAME(max_grad)(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const real *x = a->in[0], *dy = a->in[1];
	real *dx = a->out[0];
	int64_t stride[MAXD], n = shape_count(s), m = kplan_in_elements(k, 1), *place = a->ws;
	result_strides(k, stride);
	for (int64_t j = 0; j < m; j++)
		place[j] = -1;
	for (int64_t i = 0; i < n; i++) {
		int64_t j = result_index(s, stride, i);
		dx[i] = 0;
		if (place[j] < 0 || larger((double)x[i], (double)x[place[j]]))
			place[j] = i;
	}
	for (int64_t j = 0; j < m; j++)
		dx[place[j]] = dy[j];
	return 0;
}

#undef NAME
#undef real
