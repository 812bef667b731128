/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A netCDF-4 file is an HDF5 file with dimension scales, so that both names get the same. */
#include "train/predict_array.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"

bool predict_is_netcdf(const char *path)
{
	return io_ends_in(path, ".nc") || io_ends_in(path, ".h5") || io_ends_in(path, ".hdf5");
}

const struct dataset_info *predict_data(const struct session *s)
{
	return s->only_size ? dataset_info_of(s->validation_set, s->only_size - 1) :
	       dataset_info(s->validation_set);
}

int64_t predict_samples(const struct session *s)
{
	return s->only_size ? dataset_info(s->validation_set)->samples : loader_samples(s->validation);
}

int predict_choose_as(const struct session *s, enum predict_as *as)
{
	const enum target_kind kind = loss_target(&s->config->loss);
	if (*as != PREDICT_DEFAULT && kind == TARGET_VALUES)
		return ERR(E_USAGE, NULL,
		           "'--as=%s' is for networks of classes; with the loss '%s' the output is a field",
		           predict_as_names[*as], s->config->loss.v->name);
	if (kind == TARGET_FLAGS && *as == PREDICT_PROBABILITIES)
		*as = PREDICT_SIGMOID;
	else if (kind == TARGET_FLAGS && *as == PREDICT_CLASSES)
		*as = PREDICT_FLAGS;
	return 0;
}

const char *const *predict_channel_names(const struct session *s, int64_t *n)
{
	const enum target_kind kind = loss_target(&s->config->loss);
	const struct dataset_info *info = session_data(s);
	*n = info->nclasses;
	if (kind != TARGET_VALUES && info->classes)
		return info->classes;
	*n = info->target.nd > 0 ? info->target.d[0] : 0;
	return kind == TARGET_LABELS ? NULL : info->target_channels;
}

/* An axis of the output is the input's if it is as long. */
static void take_axes(struct predict_array *p, const struct axes *from, const struct shape *output,
                      int64_t samples)
{
	const int places = output->nd - 1;
	p->axes = (struct axes){ 1 + places, p->axis };
	for (int i = 0; i <= places; i++) {
		const int64_t n = i ? output->d[i] : samples;
		const bool known = i < from->n && (i == 0 || from->n == 1 + places);
		p->axis[i] = (struct axis){ .n = n };
		if (known && from->axis[i].n == n)
			p->axis[i] = from->axis[i];
	}
}

void predict_array(struct predict_array *out, const struct session *s, enum predict_as as,
                   const struct shape *output)
{
	int64_t n;
	const char *const *names = predict_channel_names(s, &n);
	const int64_t samples = predict_samples(s);
	memset(out, 0, sizeof *out);
	out->shape = predict_as_shape(as, output);
	take_axes(out, &dataset_info(s->validation_set)->axes, output, samples);
	out->array = (struct netcdf_array){ "prediction", predict_as_dtype(as), samples, &out->shape,
		as != PREDICT_CLASSES, n == output->d[0] ? names : NULL, output->d[0],
		as == PREDICT_CLASSES, &out->axes };
}
