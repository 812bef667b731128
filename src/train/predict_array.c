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

int predict_check_as(const struct session *s, enum predict_as as)
{
	if (as == PREDICT_DEFAULT || loss_wants_labels(&s->config->loss))
		return 0;
	return ERR(E_USAGE, NULL,
	           "'--as=%s' is for networks of classes; with the loss '%s' the output is a field",
	           predict_as_names[as], s->config->loss.v->name);
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

/* Names of the output's channels, of classes or of what the network was trained on; NULL: none. */
static const char *const *channel_names(const struct session *s, const struct shape *output)
{
	const struct dataset_info *info = session_data(s);
	if (loss_wants_labels(&s->config->loss))
		return info->nclasses == output->d[0] ? info->classes : NULL;
	return info->target.nd > 0 && info->target.d[0] == output->d[0] ? info->target_channels : NULL;
}

void predict_array(struct predict_array *out, const struct session *s, enum predict_as as,
                   const struct shape *output)
{
	const int64_t samples = loader_samples(s->validation);
	memset(out, 0, sizeof *out);
	out->shape = predict_as_shape(as, output);
	take_axes(out, &dataset_info(s->validation_set)->axes, output, samples);
	out->array = (struct netcdf_array){ "prediction", predict_as_dtype(as), samples, &out->shape,
		as != PREDICT_CLASSES, channel_names(s, output), output->d[0],
		as == PREDICT_CLASSES, &out->axes };
}
