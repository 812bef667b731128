/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of loss_scale.c for elements of type `real`. NAME(x) appends the backend's suffix to
 * x. */
static int NAME(loss_scale)(const struct kplan *k, const struct kargs *a)
{
	const struct loss_scale_attr *at = k->n->attr;
	const real *s = a->in[0];
	bool narrow = graph_t(k->g, k->n->in[1])->dtype == DTYPE_I32;
	int64_t step = narrow ? *(const int32_t *)a->in[1] : *(const int64_t *)a->in[1];
	real scale = s[SCALE] > 0 ? s[SCALE] : (real)at->start;
	*(real *)a->out[0] = scale;
	*(real *)a->out[1] = 1 / scale;
	*(int64_t *)a->out[2] = step - (int64_t)s[SKIPPED];
	return 0;
}

static int NAME(loss_scale_update)(const struct kplan *k, const struct kargs *a)
{
	real *state = a->out[0];
	double s[LOSS_SCALE_STATE], most = 0;
	for (int i = 1; i < k->n->nin; i++)
		most = worse((double)*(const real *)a->in[i], most);
	for (int i = 0; i < LOSS_SCALE_STATE; i++)
		s[i] = (double)state[i];
	*(real *)a->out[1] = (real)update(k->n->attr, s, most);
	for (int i = 0; i < LOSS_SCALE_STATE; i++)
		state[i] = (real)s[i];
	return 0;
}

#undef NAME
#undef real
