/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NetCDF-4 file is an HDF5 file with dimension scales, so the same file is written for both
 * extensions. */
#include "train/predict/predict_array.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/shown.h"
#include "comm/comm.h"
#include "data/epsg.h"
#include "data/loader.h"

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

/* --- the axes of the output --- */

/* Whether axis i of the output is the data's: the network reads all of it, or more, and the output
 * is as long. A window that a network enlarges may have the data's extent, but other places. */
static bool is_kept(const struct session *s, const struct axes *from, const struct shape *output,
                    int64_t samples, int i)
{
	const struct shape *read = loader_input_shape(s->validation);
	if (i == 0)
		return from->n > 0 && from->axis[0].n == samples;
	return from->n == output->nd && read->nd == output->nd && read->d[i] >= from->axis[i].n &&
	       output->d[i] == from->axis[i].n;
}

static struct axis_field *kept_fields(struct arena *a, const struct axes *from, const bool *kept,
                                      int *n)
{
	struct axis_field *v = ARENA_ARRAY(a, struct axis_field, from->nfields + 1);
	*n = 0;
	for (int k = 0; k < from->nfields; k++) {
		const struct axis_field *f = &from->field[k];
		bool all = true;

		for (int i = 0; i < f->nd; i++)
			all &= kept[f->on[i]];
		if (all)
			v[(*n)++] = *f;
	}
	return v;
}

static void warn_lost(const struct axes *from, const bool *kept, const struct axes *out)
{
	struct buf lost = BUF_INIT;
	for (int i = 0; i < from->n; i++)
		if (!kept[i] && from->axis[i].values && from->axis[i].name) {
			buf_puts(&lost, lost.len ? ", " : "");
			buf_shown(&lost, from->axis[i].name);
		}
	for (int k = 0, at = 0; k < from->nfields; k++) {
		if (at < out->nfields && strcmp(out->field[at].name, from->field[k].name) == 0) {
			at++;
			continue;
		}
		buf_puts(&lost, lost.len ? ", " : "");
		buf_shown(&lost, from->field[k].name);
	}
	if (lost.len)
		warn("the output has other extents than the data: it is written without the coordinates %s",
		     lost.data);
	buf_release(&lost);
}

static struct axes take_axes(const struct session *s, const struct axes *from,
                             const struct shape *output, int64_t samples)
{
	struct arena *a = s->config->arena;
	struct axis *axis = ARENA_ARRAY(a, struct axis, output->nd);
	struct axes out = { .n = output->nd, .axis = axis };
	bool kept[MAXD + 1] = { false }, places = true;
	for (int i = 0; i < output->nd; i++) {
		kept[i] = is_kept(s, from, output, samples, i);
		axis[i] = kept[i] ? from->axis[i] :
		          (struct axis){ .n = i ? output->d[i] : samples,
			.name = from->n == output->nd ? from->axis[i].name : NULL };
		places &= i == 0 || kept[i];
	}
	out.field = kept_fields(a, from, kept, &out.nfields);
	if (places) {
		out.grid_mapping = from->grid_mapping;
		out.nmappings = from->nmappings;
		out.mapping = from->mapping;
		epsg_to_mapping(a, &out);
	}
	if (from->n == output->nd && comm_first(s->comm))
		warn_lost(from, kept, &out);
	return out;
}

void predict_array(struct predict_array *out, const struct session *s, enum predict_as as,
                   const struct shape *output)
{
	int64_t n;
	const char *const *names = predict_channel_names(s, &n);
	const int64_t samples = predict_samples(s);
	memset(out, 0, sizeof *out);
	out->shape = predict_as_shape(as, output);
	out->axes = take_axes(s, &dataset_info(s->validation_set)->axes, output, samples);
	out->array = (struct netcdf_array){ "prediction", predict_as_dtype(as), samples, &out->shape,
		as != PREDICT_CLASSES, n == output->d[0] ? names : NULL, output->d[0],
		as == PREDICT_CLASSES, &out->axes };
}
