/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/run/data_rates.h"

#include <inttypes.h>
#include <math.h>

#include "comm/comm.h"
#include "plan/describe/sizes.h"

void data_rates_step(struct data_rates *r, double seconds, double waited)
{
	if (r->steps++ == 0)
		return;
	r->seconds += seconds;
	r->waited += waited;
}

static void add(struct data_bytes *sum, const struct dataset *d)
{
	if (!d)
		return;
	const struct data_bytes b = dataset_bytes(d);
	sum->read += b.read;
	sum->decoded += b.decoded;
}

void data_rates_gather(struct data_rates *r, const struct session *s)
{
	static const char what[] = "the bytes that ranks have read";
	const struct staging_counts staged = staging_counts(s->stage);
	struct data_bytes mine = { 0 };
	add(&mine, s->train_set);
	add(&mine, s->validation_set);
	if (s->stage)                  /* what came from a copy, or another rank, was read there */
		mine.read = staged.read - s->stage_before.read;
	double bytes[] = { (double)mine.read, (double)mine.decoded,
		(double)(staged.sent - s->stage_before.sent) };
	double share = r->seconds > 0 ? r->waited / r->seconds : -1;
	if (comm_many(s->comm)) {
		comm_sum(s->comm, bytes, 3, what);
		comm_max(s->comm, &share, 1, what);
	}
	r->bytes = (struct data_bytes){ (int64_t)bytes[0], (int64_t)bytes[1] };
	r->sent = (int64_t)bytes[2];
	r->share = share < 0 ? NAN : share;
}

void data_rates_json(const struct data_rates *r, struct buf *out)
{
	buf_printf(out, "{\"read\": %" PRId64 ", \"sent\": %" PRId64 ", \"decoded\": %" PRId64,
	           r->bytes.read, r->sent, r->bytes.decoded);
	buf_json_member(out, "waited", r->share);
	buf_putc(out, '}');
}

void data_rates_text(const struct data_rates *r, struct buf *out)
{
	char read[32], sent[32], decoded[32];
	buf_printf(out, "data          %s read", bytes_text((double)r->bytes.read, read));
	if (r->sent)
		buf_printf(out, ", %s sent to other ranks", bytes_text((double)r->sent, sent));
	buf_printf(out, ", %s decoded", bytes_text((double)r->bytes.decoded, decoded));
	if (isfinite(r->share))
		buf_printf(out, "; %.2g %% of the steps' time was spent waiting for it", 100 * r->share);
	buf_putc(out, '\n');
}
