/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table with a row for each codec. Sizes are checked before anything is decompressed. */
#include "data-tools/source/zarr/zarr_codec.h"

#include "config.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>
#ifdef HAVE_BLOSC
#include <blosc.h>
#endif

#include "report/crc32c.h"

/* No method packs more than about so much : 1. */
#define DEFLATE_MOST 1040
#define PACKED_MOST 65536

static const char damaged[] = "damaged", cut[] = "not as many bytes as a chunk has";

/* bits: zlib's window, which says whether a header is gzip's. */
static const char *inflate_all(int bits, const void *in, size_t n, void *out, size_t want)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)in, .avail_in = (uInt)n, .next_out = out,
	              .avail_out = (uInt)want };
	int rc;

	if (want / DEFLATE_MOST > n || n > UINT32_MAX || want > UINT32_MAX)
		return cut;
	if (inflateInit2(&z, bits) != Z_OK)
		return "no memory for the decompressor";
	do {
		rc = inflate(&z, Z_FINISH);
		/* gzip's members follow each other */
		if (rc == Z_STREAM_END && z.avail_in > 0 && z.avail_out > 0)
			rc = inflateReset(&z);
	} while (rc == Z_OK);
	inflateEnd(&z);
	return rc != Z_STREAM_END ? damaged : z.avail_out > 0 ? cut : NULL;
}

static const char *gzip(const void *in, size_t n, void *out, size_t want)
{
	return inflate_all(MAX_WBITS + 16, in, n, out, want);
}

static const char *zlib(const void *in, size_t n, void *out, size_t want)
{
	return inflate_all(MAX_WBITS, in, n, out, want);
}

static const char *zstd(const void *in, size_t n, void *out, size_t want)
{
	size_t got;
	if (want / PACKED_MOST > n)
		return cut;
	got = ZSTD_decompress(out, want, in, n);
	return ZSTD_isError(got) ? ZSTD_getErrorName(got) : got != want ? cut : NULL;
}

static const char *blosc(const void *in, size_t n, void *out, size_t want)
{
#ifdef HAVE_BLOSC
	size_t have;

	if (blosc_cbuffer_validate(in, n, &have) < 0)
		return damaged;
	if (have != want || want / PACKED_MOST > n)
		return cut;
	return blosc_decompress_ctx(in, out, want, 1) == (int)want ? NULL : damaged;
#else
	return "dlx was built without libblosc";
#endif
}

static const char *sum(const void *in, size_t n, void *out, size_t want)
{
	const uint8_t *p = in;
	if (n != want + 4)
		return cut;
	if (crc32c(in, want) != ((uint32_t)p[want] | (uint32_t)p[want + 1] << 8 |
	                         (uint32_t)p[want + 2] << 16 | (uint32_t)p[want + 3] << 24))
		return "its checksum is wrong";
	memcpy(out, in, want);
	return NULL;
}

static const struct {
	const char *name;
	const char *(*unpack)(const void *in, size_t n, void *out, size_t want);
} codecs[] = {
	[ZARR_GZIP] = { "gzip", gzip }, [ZARR_ZLIB] = { "zlib", zlib }, [ZARR_ZSTD] = { "zstd", zstd },
	[ZARR_BLOSC] = { "blosc", blosc }, [ZARR_CRC32C] = { "crc32c", sum },
};

bool zarr_codec_find(enum zarr_codec *out, const char *name)
{
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
		if (strcmp(codecs[i].name, name) != 0)
			continue;
		*out = (enum zarr_codec)i;
		return true;
	}
	return false;
}

const char *zarr_codec_name(enum zarr_codec c)
{
	return codecs[c].name;
}

const char *zarr_codec_lacks(enum zarr_codec c)
{
#ifndef HAVE_BLOSC
	if (c == ZARR_BLOSC)
		return "libblosc (Debian: libblosc-dev, then configure again)";
#endif
	return NULL;
}

const char *zarr_unpack(enum zarr_codec c, const void *in, size_t n, void *out, size_t want)
{
	return codecs[c].unpack(in, n, out, want);
}
