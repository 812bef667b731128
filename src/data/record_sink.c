/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/record_sink.h"

#include "base/hash.h"

#define PIECE ((size_t)256 << 10)    /* bytes, of which a core's cache has several */

static uint8_t *place(const struct record_sink *s)
{
	return s->out + s->at / s->strip * s->stride + s->at % s->strip;
}

uint8_t *record_sink_next(const struct record_sink *s, size_t *n)
{
	const size_t left = s->strip - s->at % s->strip, most = left < PIECE ? left : PIECE;
	*n = *n < most ? *n : most;
	return place(s);
}

void record_sink_done(struct record_sink *s, size_t n)
{
	if (s->hash)
		hash_update(s->hash, place(s), n);
	s->at += n;
}
