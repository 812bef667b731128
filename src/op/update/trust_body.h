/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of trust.c for elements of type `real`. NAME(x) appends the backend's suffix to x;
 * CLONES defines a function, in float32 for several instruction sets. */
CLONES(struct sums, NAME(sums), (const real *a, const real *b, real scale, real decay, int64_t n),
       (a, b, scale, decay, n))
{
	double sa = 0, sb = 0;
#pragma omp simd reduction(+ : sa, sb)
	for (int64_t i = 0; i < n; i++) {
		real y = b[i] * scale + decay * a[i];
		sa += (double)a[i] * (double)a[i];
		sb += (double)y * (double)y;
	}
	return (struct sums){ sa, sb };
}

static void NAME(norms_piece)(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                              int64_t hi, int64_t number)
{
	const struct norms_attr *at = k->n->attr;
	const real *x = a->in[1 + 2 * t], *y = a->in[2 + 2 * t];
	real scale = node_has(k->n, 0) ? *(const real *)a->in[0] : 1;
	((struct sums *)a->ws)[number] =
		NAME(sums)(x + lo, y + lo, scale, (real)each(&at->decay, t, 0), hi - lo);
}

static int NAME(norms)(const struct kplan *k, const struct kargs *a)
{
	int groups = bundle_groups(k->n, norms_form);
	const struct sums *part = a->ws;
	real *out = a->out[0];
	bundle_run_pieces(k, a, NAME(norms_piece));
	for (int t = 0; t < groups; t++) {
		struct sums s = { 0, 0 };
		for (int64_t i = bundle_first_piece(k, t); i < bundle_first_piece(k, t + 1); i++) {
			s.a += part[i].a;
			s.b += part[i].b;
		}
		out[t] = (real)sqrt(s.a);
		out[groups + t] = (real)sqrt(s.b);
	}
	return 0;
}

static int NAME(trust_ratio)(const struct kplan *k, const struct kargs *a)
{
	const struct trust_ratio_attr *at = k->n->attr;
	const real *norm = a->in[0];
	real *out = a->out[0];
	int n = (int)node_in_shape(k->g, k->n, 0)->d[1];
	for (int t = 0; t < n; t++) {
		double w = 0, g = 0, rate = (double)*(const real *)a->in[1];
		if (at->layer.n && at->layer.v[t] < 0) {
			out[t] = 1;
			continue;
		}
		for (int i = 0; i < n; i++)
			if (same_layer(at, i, t)) {
				w += (double)norm[i] * (double)norm[i];
				g += (double)norm[n + i] * (double)norm[n + i];
			}
		w = sqrt(w);
		g = sqrt(g);
		if (g > 0)
			g += each(&at->decay, t, 0) * w;
		out[t] = (real)ratio(at, w, g, rate * each(&at->rate_factor, t, 1));
	}
	return 0;
}

#undef CLONES
#undef NAME
#undef real
