/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/describe/describe_sources.h"

#include <inttypes.h>

#include "base/shown.h"
#include "data/sources.h"

static bool apart(const struct session *s)
{
	enum data_shuffle shuffle = SHUFFLE_NOT;
	shuffle_parse(s->config->data.shuffle, &shuffle);    /* checked with the config */
	return shuffle == SHUFFLE_WITHIN_HOST && s->comm && s->comm->hosts > 1;
}

void describe_order(const struct session *s, struct buf *out)
{
	enum data_shuffle shuffle = SHUFFLE_NOT;
	shuffle_parse(s->config->data.shuffle, &shuffle);
	buf_puts(out, shuffle == SHUFFLE_NOT ? "as stored" : "shuffled");
	if (apart(s))
		buf_printf(out, " within each of %d hosts", s->comm->hosts);
}

static void describe_source(const struct session *s, int k, struct buf *out)
{
	const struct dataset_source *f = dataset_source(s->train_set, k);
	const int64_t drawn = loader_source_samples(s->train, k), all = loader_samples(s->train),
	              windows = all / dataset_info(s->train_set)->samples;
	buf_printf(out, "'%s'", shown(f->files));
	if (f->patterns > 1)
		buf_printf(out, " and %d more", f->patterns - 1);
	buf_printf(out, ", weight %g: %" PRId64 " of the %" PRId64 " samples of an epoch (%.4g %%), "
	           "each of its %" PRId64 " %.3g times", f->weight, drawn, all,
	           100 * (double)drawn / (double)all, f->samples * windows,
	           (double)drawn / (double)(f->samples * windows));
}

void describe_sources(const struct session *s, int margin, struct buf *out)
{
	const size_t start = out->len;
	if (!s->train_set)
		return;
	for (int k = 0; k < dataset_sources(s->train_set); k++) {
		if (out->len > start)
			buf_printf(out, "\n%*s", margin, "");
		describe_source(s, k, out);
	}
	if (!apart(s))
		return;
	if (out->len > start)
		buf_printf(out, "\n%*s", margin, "");
	buf_puts(out, "samples are ");
	describe_order(s, out);
	buf_puts(out, ": each reads its own share of them alone");
}

void describe_sources_json(const struct session *s, struct buf *out)
{
	if (!s->train_set || dataset_sources(s->train_set) == 0)
		return;
	buf_puts(out, " \"sources\": [");
	for (int k = 0; k < dataset_sources(s->train_set); k++) {
		const struct dataset_source *f = dataset_source(s->train_set, k);
		buf_puts(out, k ? ", {\"files\": " : "{\"files\": ");
		buf_json_string(out, f->files);
		buf_printf(out, ", \"weight\": %.17g, \"samples\": %" PRId64 ", \"epoch\": %" PRId64 "}",
		           f->weight, f->samples, loader_source_samples(s->train, k));
	}
	buf_puts(out, "],\n");
}
