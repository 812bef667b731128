/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Further arrays of a batch: arrays of the record other than input and target, as they are stored.
 * They are not supported with transforms that move points (no code would move them too), with
 * mixup, or with several sizes. */
#include <string.h>

#include "base/err.h"
#include "data/loader_state.h"

static int refuse(const struct loader *l, const struct loader_options *o, const char *name)
{
	const struct ynode *list = o->config->transforms;
	const struct loc *loc = list ? &list->loc : NULL;
	if (l->nsizes > 1)
		return ERR(E_UNSUPPORTED, NULL, "array '%s' of samples of several sizes", name);
	if (l->mixes)
		return ERR(E_UNSUPPORTED, NULL, "array '%s' with 'data.mixup'", name);
	if (!transform_only_scales(l->end[0].chain))
		return ERR(E_UNSUPPORTED, loc, "array '%s' is taken as it is stored, with which no "
		           "transforms go but cast and normalize", name);
	return 0;
}

static int find(struct loader *l, const struct loader_options *o, const char *name)
{
	struct further *f = &l->further[l->nfurther];
	TRY(refuse(l, o, name));
	TRY(dataset_find_array(l->d, name, &f->array));
	f->name = name;
	f->each = shape_count(&f->array.shape);
	f->sample_bytes = (size_t)f->each * dtype_size(f->array.dtype);
	if (__builtin_mul_overflow((size_t)l->batch_size, f->sample_bytes, &f->bytes) ||
	    f->bytes > SIZE_MAX / 4)
		return ERR(E_NOMEM, NULL, "a batch of array '%s' is larger than memory", name);
	f->bytes = (f->bytes + 63) / 64 * 64;
	l->further_bytes += f->bytes;
	l->nfurther++;
	return 0;
}

int loader_further_find(struct loader *l, const struct loader_options *o)
{
	for (int k = 0; o->further && k < o->further->n; k++) {
		BUG_IF(l->nfurther == LOADER_FURTHER, "more than %d further arrays", LOADER_FURTHER);
		TRY(find(l, o, o->further->v[k]));
	}
	return 0;
}

void loader_further_list(const struct slot *s, struct batch *b)
{
	const char *at = s->further;
	for (int k = 0; k < s->l->nfurther; k++) {
		const struct further *f = &s->l->further[k];
		b->array[b->narrays++] = (struct batch_array){ f->name, f->array.dtype, f->each, at };
		at += f->bytes;
	}
}

void loader_further_copy(const struct slot *s, int64_t at, int64_t sample, const void *raw)
{
	char *to = s->further;
	for (int k = 0; k < s->l->nfurther; k++) {
		const struct further *f = &s->l->further[k];
		memcpy(to + (size_t)at * f->sample_bytes, dataset_array_of(s->l->d, &f->array, sample, raw),
		       f->sample_bytes);
		to += f->bytes;
	}
}
