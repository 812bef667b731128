/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target for what a checkpoint is read from: safetensors images and manifests.
 * A manifest with a wrong hash is refused before it is parsed, so every input is also tried with
 * its hash set right. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "ckpt/manifest.h"
#include "ckpt/safetensors.h"
#include "ckpt/sealed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

/* Every byte that the reader hands out is touched, so that a sanitizer sees a wrong pointer. */
static void try_safetensors(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct st_file f;
	if (st_parse(&f, a, "input", data, size) == 0)
		for (int i = 0; i < f.n; i++) {
			const unsigned char *p = f.tensor[i].data;
			for (size_t k = 0; k < st_bytes(&f.tensor[i]); k++)
				sink ^= p[k];
			if (!st_find(&f, f.tensor[i].name))
				abort();
		}
	arena_free(a);
}

/* What is accepted must survive being written and read again. */
static void try_manifest(const char *text, size_t size)
{
	struct arena *a = arena_new();
	struct manifest m, again;
	struct buf b = BUF_INIT;
	if (manifest_parse(&m, a, "input", text, size) == 0) {
		manifest_write(&b, &m);
		if (manifest_parse(&again, a, "written", b.data, b.len) < 0 ||
		    again.step != m.step || again.nscalars != m.nscalars ||
		    again.ntensors != m.ntensors || !hash128_equal(again.hash, m.hash))
			abort();
	}
	buf_release(&b);
	arena_free(a);
}

static void try_sealed(const char *text, size_t size)
{
	struct buf b = BUF_INIT;
	sealed_end(&b, 0);
	const size_t tail = b.len;
	buf_clear(&b);
	if (size >= tail) {
		buf_add(&b, text, size - tail);
		sealed_end(&b, 0);
		try_manifest(b.data, b.len);
	}
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_safetensors(data, size);
	try_manifest((const char *)data, size);
	try_sealed((const char *)data, size);
	err_clear();
	return 0;
}
