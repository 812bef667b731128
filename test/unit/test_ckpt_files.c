/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a checkpoint's files may say although their hashes are right: manifests of wrong form, and
 * zstd files that do not hold what the manifest says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/pack.h"
#include "files.h"

#define TAIL 33   /* ',\n  "hash": "', sixteen digits, '"\n}\n' */

static const struct ckpt_scalar scalars[] = { { "a", "1" }, { "b \"", "\n" } };
static const struct manifest example = {
	.serial = 3, .step = 40, .epoch = 5, .parent = "000000000030-51c0ffee",
	.metric_name = "mean_iou", .metric = 0.1, .nscalars = 2, .scalar = scalars,
	.file = { { 11, 12, 13, 14 }, { 21, UINT64_MAX, 23, 24 } },
};

static void test_round_trip(void **unused)
{
	struct arena *a = arena_new();
	struct manifest m = example, got;
	struct buf b = BUF_INIT;
	char id[CKPT_ID];
	manifest_write(&b, &m);
	assert_int_equal(manifest_parse(&got, a, "x", b.data, b.len), 0);
	assert_int_equal(got.serial, 3);
	assert_int_equal(got.step, 40);
	assert_int_equal(got.epoch, 5);
	assert_string_equal(got.parent, m.parent);
	assert_string_equal(got.metric_name, m.metric_name);
	assert_true(got.metric == 0.1);
	assert_int_equal(got.nscalars, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(got.scalar[i].name, scalars[i].name);
		assert_string_equal(got.scalar[i].value, scalars[i].value);
	}
	assert_memory_equal(got.file, m.file, sizeof m.file);
	assert_true(got.hash == m.hash);
	manifest_id(&got, id);
	assert_int_equal(strlen(id), 21);
	assert_int_equal(strncmp(id, "000000000040-", 13), 0);
	buf_release(&b);
	arena_free(a);
}

/* The example's text with the first `from` replaced, under a hash that is right again. */
static int parse_edited(struct arena *a, const char *from, const char *to)
{
	struct manifest m = example, got;
	struct buf b = BUF_INIT, edited = BUF_INIT;
	const char *hit;
	int rc;
	manifest_write(&b, &m);
	b.data[b.len -= TAIL] = '\0';
	hit = strstr(b.data, from);
	assert_non_null(hit);
	buf_add(&edited, b.data, (size_t)(hit - b.data));
	buf_printf(&edited, "%s%s", to, hit + strlen(from));
	buf_printf(&edited, ",\n  \"hash\": \"%016llx\"\n}\n",
	           (unsigned long long)hash_bytes(edited.data, edited.len, 0));
	rc = manifest_parse(&got, a, "x.json", edited.data, edited.len);
	buf_release(&b);
	buf_release(&edited);
	return rc;
}

static void test_form(void **unused)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "checkpoint 1", "checkpoint 2", "is not 'dlx checkpoint 1'" },
		{ "\"format\": \"dlx checkpoint 1\"", "\"format\": 1", "is not 'dlx checkpoint 1'" },
		{ "\"format\"", "\"Format\"", "'format' is missing" },
		{ "{\n  \"format\"", "[\n  \"format\"", "expected ',' or ']'" },
		{ "\"serial\": 3", "\"serial\": -3", "'serial': expected an integer" },
		{ "\"step\": 40", "\"step\": 9223372036854775807", "'step': expected an integer" },
		{ "\"step\": 40", "\"step\": 40.0", "'step': expected an integer" },
		{ "\"epoch\": 5", "\"epoch\": \"5\"", "'epoch': expected an integer" },
		{ "\"epoch\": 5", "\"epoch\": 5, \"epoch\": 5", "stands twice" },
		{ "\"000000000030-51c0ffee\"", "30", "'parent': expected" },
		{ "{\"mean_iou\": 0.1}", "0.1", "'metric': expected" },
		{ "{\"mean_iou\": 0.1}", "{\"mean_iou\": 1e999}", "'metric': expected" },
		{ "{\"mean_iou\": 0.1}", "{\"a\": 1, \"b\": 2}", "'metric': expected" },
		{ "\"a\": \"1\"", "\"a\": 1", "'a': expected a string" },
		{ "\"scalars\": {", "\"scalars\": [], \"x\": {", "'scalars': expected" },
		{ "\"files\": {", "\"files\": 1, \"x\": {", "'files': expected" },
		{ "state.safetensors.zst", "other.zst", "'state.safetensors.zst' is missing" },
		{ "\"bytes\": 11", "\"bytes\": -1", "'bytes': expected" },
		{ "\"raw_bytes\": 13", "\"raw_bytes\": 18446744073709551615", "'raw_bytes': expected" },
		{ "000000000000000c", "00000000000000c", "'hash': expected sixteen" },
		{ "000000000000000c", "000000000000000C", "'hash': expected sixteen" },
		{ ", \"raw_hash\"", ", \"row_hash\"", "'raw_hash' is missing" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *a = arena_new();
		int rc = parse_edited(a, cases[i].from, cases[i].to);
		if (rc != E_DATA || err_count() != 1 || !strstr(err_get(0)->text, cases[i].says))
			fail_msg("'%s': %d '%s'", cases[i].to, rc, err_count() ? err_get(0)->text : "");
		assert_non_null(strstr(err_get(0)->text, "'x.json'"));
		err_clear();
		arena_free(a);
	}
}

/* --- packed files --- */

static int setup(void **state)
{
	return place_new(state, "pack-XXXXXX", "x.zst");
}

/* One frame of p, with or without its size, appended to b. */
static void add_frame(struct buf *b, const char *p, int with_size)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	char out[256];
	size_t n;

	ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, with_size);
	n = ZSTD_compress2(z, out, sizeof out, p, strlen(p));
	assert_false(ZSTD_isError(n));
	buf_add(b, out, n);
	ZSTD_freeCCtx(z);
}

static int unpack(const char *path, const struct buf *b, const char *raw, const char *hashed)
{
	struct manifest_file f = { b->len, hash_bytes(b->data, b->len, 0), strlen(raw),
	                           hash_bytes(hashed, strlen(hashed), 0) };
	void *image;
	int rc;
	assert_int_equal(io_write_file(path, b->data, b->len), 0);
	rc = unpack_file(&image, path, &f);
	if (rc == 0) {
		assert_memory_equal(image, raw, strlen(raw));
		mem_unmap(image, strlen(raw));
	} else {
		assert_null(image);
	}
	return rc;
}

static void test_frames(void **state)
{
	const char *path = ((struct place *)*state)->path;
	struct buf b = BUF_INIT;
	add_frame(&b, "hello ", 1);
	add_frame(&b, "", 1);
	add_frame(&b, "world", 1);
	assert_int_equal(unpack(path, &b, "hello world", "hello world"), 0);
	assert_int_equal(unpack(path, &b, "hello worlds", "hello worlds"), E_DATA);
	assert_non_null(strstr(err_get(0)->text, "11 bytes of data, but the manifest says 12"));
	assert_int_equal(unpack(path, &b, "hello worl", "hello worl"), E_DATA);
	assert_non_null(strstr(err_get(1)->text, "more data than the manifest says"));
	assert_int_equal(unpack(path, &b, "hello world", "hello World"), E_DATA);
	assert_non_null(strstr(err_get(2)->text, "the hash of its data"));
	buf_clear(&b);
	add_frame(&b, "hello world", 0);
	assert_int_equal(unpack(path, &b, "hello world", "hello world"), E_DATA);
	assert_non_null(strstr(err_get(3)->text, "a frame without its size"));
	buf_clear(&b);
	add_frame(&b, "hello ", 1);
	buf_puts(&b, "world");
	assert_int_equal(unpack(path, &b, "hello world", "hello world"), E_DATA);
	assert_non_null(strstr(err_get(4)->text, "in the zstd frame at byte 15"));
	buf_clear(&b);
	assert_int_equal(unpack(path, &b, "x", "x"), E_DATA);
	buf_release(&b);
}

/* A file of several chunks has several frames, the last one short. */
static void test_chunks(void **state)
{
	const char *path = ((struct place *)*state)->path;
	size_t n = 2 * PACK_CHUNK + 12345;
	char *raw = mem_calloc(n, 1);
	struct packer *p = packer_new(1);
	struct manifest_file f;
	void *image;
	for (size_t i = 0; i < n; i += 1001)
		raw[i] = (char)i;
	assert_int_equal(pack_file(p, path, raw, n, &f), 0);
	assert_int_equal(f.raw_bytes, n);
	assert_true(f.bytes < n / 2);
	assert_true(f.raw_hash == hash_bytes(raw, n, 0));
	assert_int_equal(unpack_file(&image, path, &f), 0);
	assert_memory_equal(image, raw, n);
	mem_unmap(image, n);
	assert_int_equal(pack_file(p, "/no/such/folder/x", raw, n, &f), E_CANTCREATE);
	packer_free(p);
	mem_free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_form),
		cmocka_unit_test_setup_teardown(test_frames, setup, place_free),
		cmocka_unit_test_setup_teardown(test_chunks, setup, place_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
