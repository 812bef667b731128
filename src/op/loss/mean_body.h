/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of mean.c for elements of type `real`. NAME(x) appends the backend's suffix to x. */
#define NUMBER(i, otherwise) \
	((k->n->nin > (i) && a->in[i]) ? *(const real *)a->in[i] : (otherwise))

static int NAME(terms)(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	real *s = a->out[0], share = *(const real *)a->in[TERMS_SHARE];
	real w = *(const real *)a->in[TERMS_WEIGHT], loss = *(const real *)a->in[TERMS_LOSS];
	bool anew = !node_has(k->n, TERMS_INDEX) || whole(k, a, TERMS_INDEX) == 0;
	for (int i = 0; i < MEAN_TERMS && anew; i++)
		s[i] = 0;
	if (share != 0) { /* a batch whose share is 0 adds nothing, not even a NaN */
		s[MEAN_LOSS] += at->sum ? share * loss : w != 0 ? share * w * loss : 0;
		s[MEAN_WEIGHT] += share * w;
	}
	for (int i = 0; i < MEAN_VOTES; i++)
		s[MEAN_VOTE + i] += ((const real *)a->in[TERMS_VOTES])[i];
	return 0;
}

static int NAME(seed)(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	real w = *(const real *)a->in[0] / (real)at->nominal;
	*(real *)a->out[0] = *(const real *)a->in[1] * NUMBER(2, 1) * (at->sum ? 1 : w);
	return 0;
}

static int NAME(factor)(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	real w = ((const real *)a->in[0])[MEAN_WEIGHT], inverse = NUMBER(1, 1);
	real mean = w > 0 ? (real)at->nominal / w : 0;
	*(real *)a->out[0] = inverse * (at->sum ? (real)at->nominal : mean);
	return 0;
}

static int NAME(lag)(const struct kplan *k, const struct kargs *a)
{
	real *s = a->out[0], now = *(const real *)a->in[1];
	int64_t step = whole(k, a, 2);
	*(real *)a->out[1] = s[0];
	*(real *)a->out[2] = s[1];
	*(int64_t *)a->out[3] = step > 0 ? step - 1 : 0;
	s[0] = now;
	s[1] = 1;
	return 0;
}

#undef NUMBER
#undef NAME
#undef real
