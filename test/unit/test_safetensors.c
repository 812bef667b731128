/* SPDX-License-Identifier: BSD-3-Clause
 *
 * safetensors: what is written comes back, and every way a header can lie is refused. */
#include "cases.h"
#include "base/err.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"

static const float weights[6] = { 1, -2.5f, 3e-30f, 4, 5, 6 };
static const uint8_t bytes[3] = { 7, 8, 9 };
static const double one = 0.1;
static const char *const meta[] = { "format", "pt", "a \"b\"", "\n" };

static int tensors(struct st_tensor t[4])
{
	t[0] = (struct st_tensor){ "z", DTYPE_F32, shape_of(2, (int64_t[]){ 2, 3 }), weights };
	t[1] = (struct st_tensor){ "bytes", DTYPE_U8, shape_of(1, (int64_t[]){ 3 }), bytes };
	t[2] = (struct st_tensor){ "none", DTYPE_I64, shape_of(2, (int64_t[]){ 5, 0 }), NULL };
	t[3] = (struct st_tensor){ "scalar", DTYPE_F64, shape_of(0, NULL), &one };
	return 4;
}

static void check_round_trip(const struct st_file *f)
{
	struct st_tensor t[4];
	int n = tensors(t);
	assert_int_equal(f->n, n);
	for (int i = 0; i < n; i++) {
		assert_string_equal(f->tensor[i].name, t[i].name);
		assert_int_equal(f->tensor[i].dtype, t[i].dtype);
		assert_true(shape_equal(&f->tensor[i].shape, &t[i].shape));
		if (t[i].data)
			assert_memory_equal(f->tensor[i].data, t[i].data, st_bytes(&t[i]));
	}
	assert_int_equal(f->nmeta, 2);
	for (int i = 0; i < 4; i++)
		assert_string_equal(f->meta[i], meta[i]);
	assert_ptr_equal(st_find(f, "bytes"), &f->tensor[1]);
	assert_null(st_find(f, "byte"));
}

static void test_round_trip(void **unused)
{
	struct arena *a = arena_new();
	struct buf b = BUF_INIT;
	struct st_tensor t[4];
	struct st_file f;
	st_build(&b, t, tensors(t), meta, 2);
	assert_int_equal(st_parse(&f, a, "x", b.data, b.len), 0);
	check_round_trip(&f);
	assert_int_equal((unsigned char)b.data[0] % 8, 0);
	buf_release(&b);
	arena_free(a);
}

static void test_file(void **unused)
{
	char dir[] = "safetensors-XXXXXX", *path;
	struct arena *a = arena_new();
	struct buf b = BUF_INIT;
	struct st_tensor t[4];
	struct st_file f;
	assert_non_null(mkdtemp(dir));
	path = io_join(dir, "w.safetensors");
	assert_int_equal(st_write_file(path, t, tensors(t), meta, 2), 0);
	assert_int_equal(io_read_file(path, &b), 0);
	assert_int_equal(st_parse(&f, a, path, b.data, b.len), 0);
	check_round_trip(&f);
	assert_int_equal(st_write_file("/no/such/folder/x", t, 1, NULL, 0), E_CANTCREATE);
	err_clear();
	buf_release(&b);
	arena_free(a);
	mem_free(path);
	assert_int_equal(io_remove_tree(dir), 0);
}

static void test_empty(void **unused)
{
	struct arena *a = arena_new();
	struct buf b = BUF_INIT;
	struct st_file f;
	st_build(&b, NULL, 0, NULL, 0);
	assert_int_equal(st_parse(&f, a, "x", b.data, b.len), 0);
	assert_int_equal(f.n, 0);
	assert_int_equal(f.nmeta, 0);
	buf_release(&b);
	arena_free(a);
}

/* header and ndata bytes of data, in memory of the exact size. */
static int parse(struct st_file *f, struct arena *a, const char *header, size_t ndata, long lie)
{
	size_t n = strlen(header);
	unsigned char *p = calloc(8 + n + ndata, 1);
	uint64_t length = n + (uint64_t)lie;
	int rc;
	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(length >> 8 * i);
	memcpy(p + 8, header, n);
	rc = st_parse(f, a, "x", p, 8 + n + ndata);
	free(p);
	return rc;
}

/* The order of the header is free; the tensors come back in the order of their data. */
static void test_any_order(void **unused)
{
	struct arena *a = arena_new();
	struct st_file f;
	assert_int_equal(parse(&f, a, "{\"b\":{\"shape\":[2],\"data_offsets\":[4,6],\"dtype\":\"F16\"},"
	                       "\"c\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[4,4]},"
	                       "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  ", 6,
	                       0),
	                 E_DATA);
	err_clear();
	assert_int_equal(parse(&f, a, "{\"b\":{\"shape\":[2],\"data_offsets\":[4,8],\"dtype\":\"F16\"},"
	                       "\"c\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[4,4]},"
	                       "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  ", 8,
	                       0),
	                 0);
	assert_string_equal(f.tensor[0].name, "a");
	assert_string_equal(f.tensor[1].name, "c");
	assert_string_equal(f.tensor[2].name, "b");
	arena_free(a);
}

#define T(name, dtype, shape, off) \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" off "}"

static void test_refused(void **unused)
{
	static const struct {
		const char *header;
		size_t ndata;
		long lie;
		const char *says;
	} cases[] = {
		{ "{}", 0, 1, "does not fit" },
		{ "{}", 0, -3, "does not fit" },
		{ "{}", 0, -2, "expected '{'" },
		{ "{}", 1, 1, "byte 10" },
		{ " {}", 0, 0, "expected '{'" },
		{ "[]", 0, 0, "expected '{'" },
		{ "{} x", 0, 0, "byte 11: text after" },
		{ "{}", 1, 0, "its tensors end at 0" },
		{ "{\"a\":1}", 0, 0, "expected exactly" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, 0, "expected exactly" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, 0,
		  "expected exactly" },
		{ "{" T("a", "F31", "[1]", "[0,4]") "}", 4, 0, "dtype 'F31' is not supported" },
		{ "{" T("a", "f32", "[1]", "[0,4]") "}", 4, 0, "not supported" },
		{ "{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 0, "dtype's name" },
		{ "{" T("a", "F32", "1", "[0,4]") "}", 4, 0, "list of axis sizes" },
		{ "{" T("a", "F32", "[-1]", "[0,4]") "}", 4, 0, "axis size" },
		{ "{" T("a", "F32", "[1.0]", "[0,4]") "}", 4, 0, "axis size" },
		{ "{" T("a", "F32", "[\"1\"]", "[0,4]") "}", 4, 0, "axis size" },
		{ "{" T("a", "F32", "[1,1,1,1,1,1,1]", "[0,4]") "}", 4, 0, "more axes" },
		{ "{" T("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, 0, "too many elements" },
		{ "{" T("a", "F32", "[9223372036854775807,2]", "[0,4]") "}", 4, 0, "too many elements" },
		{ "{" T("a", "F32", "[9223372036854775807,9223372036854775807,0]", "[0,0]") "}", 0, 0,
		  "too many elements" },
		{ "{" T("a", "F32", "[18446744073709551617]", "[0,4]") "}", 4, 0, "axis size" },
		{ "{" T("a", "F32", "[1]", "[0,4,4]") "}", 4, 0, "two integers" },
		{ "{" T("a", "F32", "[1]", "[-4,0]") "}", 4, 0, "two integers" },
		{ "{" T("a", "F32", "[1]", "[0,4.0]") "}", 4, 0, "two integers" },
		{ "{" T("a", "F32", "[1]", "[4,0]") "}", 4, 0, "ends before it begins" },
		{ "{" T("a", "F32", "[2]", "[0,8]") "}", 4, 0, "exceeds" },
		{ "{" T("a", "F32", "[1]", "[18446744073709551612,18446744073709551615]") "}", 4, 0,
		  "exceeds" },
		{ "{" T("a", "F32", "[2]", "[0,4]") "}", 4, 0, "4 bytes of data do not fit f32 2" },
		{ "{" T("a", "F32", "[1]", "[0,4]") "}", 5, 0, "its tensors end at 4" },
		{ "{" T("a", "F32", "[1]", "[1,5]") "}", 5, 0, "starts at offset 1" },
		{ "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[5,9]") "}", 9, 0,
		  "starts at offset 5 but the one before ends at 4" },
		{ "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[3,7]") "}", 7, 0,
		  "starts at offset 3" },
		{ "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", 4, 0,
		  "starts at offset 0" },
		{ "{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[4,8]") "}", 8, 0,
		  "stands twice" },
		{ "{\"__metadata__\":[]}", 0, 0, "__metadata__" },
		{ "{\"__metadata__\":{\"a\":1}}", 0, 0, "__metadata__" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *a = arena_new();
		struct st_file f;
		int rc = parse(&f, a, cases[i].header, cases[i].ndata, cases[i].lie);
		if (rc != E_DATA || err_count() != 1 || !strstr(err_get(0)->text, cases[i].says))
			fail_msg("'%s': %d '%s'", cases[i].header, rc, err_count() ? err_get(0)->text : "");
		err_clear();
		arena_free(a);
	}
}

/* Every shortening is refused; so is every other length in front. */
static void test_lengths(void **unused)
{
	struct buf b = BUF_INIT;
	struct st_tensor t[4];
	struct st_file f;
	st_build(&b, t, tensors(t), meta, 2);
	for (size_t n = 0; n < b.len; n++) {
		struct arena *a = arena_new();
		char *copy = malloc(n ? n : 1);
		memcpy(copy, b.data, n);
		assert_int_equal(st_parse(&f, a, "x", copy, n), E_DATA);
		err_clear();
		free(copy);
		arena_free(a);
	}
	for (int bit = 0; bit < 64; bit++) {
		struct arena *a = arena_new();
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(st_parse(&f, a, "x", b.data, b.len), E_DATA);
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
		err_clear();
		arena_free(a);
	}
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_file),
		cmocka_unit_test(test_empty),      cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_refused),    cmocka_unit_test(test_lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
