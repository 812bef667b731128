/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_version1 FOLDER STEP SERIAL PARENT SEED: a version of format 1 in the folder, as dlx wrote
 * them before it had a store of chunks; PARENT is an id or -. It has the weight w, 1000 values of
 * which the first is SEED, and the moment w.m. Prints the version's id. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"

#define VALUES 1000

static const char *const files[] = { "weights.safetensors.zst", "state.safetensors.zst" };

/* One file, and its member of the manifest. */
static int write_tensor(const char *folder, int file, const char *name, const float *values,
                        struct buf *manifest)
{
	const struct st_tensor t = { name, DTYPE_F32, { 1, { VALUES } }, values };
	const char *const meta[] = { "format", "pt" };
	struct buf raw = BUF_INIT, packed = BUF_INIT;
	char *path = io_join(folder, files[file]);
	st_build(&raw, &t, 1, meta, 1);
	buf_reserve(&packed, ZSTD_compressBound(raw.len));
	packed.len = ZSTD_compress(packed.data, packed.cap, raw.data, raw.len, 1);
	buf_printf(manifest, "%s    \"%s\": {\"bytes\": %zu, \"hash\": \"%016" PRIx64 "\", "
	           "\"raw_bytes\": %zu, \"raw_hash\": \"%016" PRIx64 "\"}", file ? ",\n" : "",
	           files[file], packed.len, hash_bytes(packed.data, packed.len, 0), raw.len,
	           hash_bytes(raw.data, raw.len, 0));
	int rc = io_write_file(path, packed.data, packed.len);
	buf_release(&raw);
	buf_release(&packed);
	mem_free(path);
	return rc;
}

static int make(char **arg)
{
	char *hidden = io_join(arg[0], ".making"), id[64];
	float values[VALUES] = { (float)atof(arg[4]) };
	struct buf m = BUF_INIT;
	TRY(io_mkdirs(hidden));
	buf_printf(&m, "{\n  \"format\": \"dlx checkpoint 1\",\n  \"serial\": %s,\n  \"step\": %s,\n"
	           "  \"epoch\": 1,\n  \"parent\": ", arg[2], arg[1]);
	buf_printf(&m, *arg[3] == '-' ? "null" : "\"%s\"", arg[3]);
	buf_puts(&m, ",\n  \"metric\": null,\n  \"scalars\": {\n    \"seed\": \"1\"\n  },\n"
	         "  \"files\": {\n");
	TRY(write_tensor(hidden, 0, "w", values, &m));
	TRY(write_tensor(hidden, 1, "w.m", values, &m));
	buf_puts(&m, "\n  }");
	const uint64_t hash = hash_bytes(m.data, m.len, 0);
	buf_printf(&m, ",\n  \"hash\": \"%016" PRIx64 "\"\n}\n", hash);
	char *manifest = io_join(hidden, "manifest.json");
	TRY(io_write_file(manifest, m.data, m.len));
	snprintf(id, sizeof id, "%012lld-%08" PRIx32, atoll(arg[1]), (uint32_t)(hash >> 32));
	char *final = io_join(arg[0], id);
	if (rename(hidden, final) != 0)
		return io_fail(E_IO, "rename", hidden);
	puts(id);
	buf_release(&m);
	mem_free(manifest);
	mem_free(hidden);
	mem_free(final);
	return 0;
}

int main(int argc, char **argv)
{
	log_init("make_version1", 0, 1);
	int rc = argc == 6 ? make(argv + 1) : ERR(E_USAGE, NULL, "expected five arguments");
	if (rc < 0)
		err_print(stderr, "make_version1");
	return err_exit_status(rc);
}
