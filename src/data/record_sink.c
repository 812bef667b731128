/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/record_sink.h"

#include <string.h>

#include "base/hash.h"
#include "data/record.h"

/* Of the array. */
static size_t next_byte(const struct record_sink *s)
{
	return s->from + s->at / s->strip * s->stride + s->at % s->strip;
}

uint8_t *record_sink_next(const struct record_sink *s, size_t *n)
{
	const size_t left = s->strip - s->at % s->strip;
	const size_t most = left < RECORD_SINK_PIECE ? left : RECORD_SINK_PIECE;
	*n = *n < most ? *n : most;
	return s->taker ? s->out : s->out + next_byte(s);
}

/* The next n bytes are at p. */
static void have(struct record_sink *s, const uint8_t *p, size_t n)
{
	const struct record_taker *t = s->taker;
	if (s->hash)
		hash_update(s->hash, p, n);
	if (t)
		t->take(t->self, (int64_t)(next_byte(s) / s->width), p, (int64_t)(n / s->width));
	s->at += n;
}

void record_sink_done(struct record_sink *s, size_t n)
{
	have(s, s->taker ? s->out : s->out + next_byte(s), n);
}

void record_sink_put(struct record_sink *s, const uint8_t *from, size_t n)
{
	for (size_t at = 0, piece; at < n; at += piece) {
		uint8_t *to;

		piece = n - at;
		to = record_sink_next(s, &piece);
		if (!s->taker)
			memcpy(to, from + at, piece);
		have(s, s->taker ? from + at : to, piece);
	}
}
