/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TensorBoard's file read back by a small reader of its own: framing, checksums, every field. */
#include <time.h>

#include "cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/crc32c.h"
#include "report/tfevents.h"

struct event {
	double wall_time;
	uint64_t step;
	char version[32], tag[64];
	float value;
	int status;
};

struct cursor {
	const unsigned char *p, *end;
};

/* Values of RFC 3720, B.4, and a CRC bit by bit. */
static void test_crc(void **unused)
{
	unsigned char b[32];
	assert_int_equal(crc32c("", 0), 0);
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_more(crc32c("123", 3), "456789", 6), 0xe3069283);
	memset(b, 0, sizeof b);
	assert_int_equal(crc32c(b, sizeof b), 0x8a9136aa);
	memset(b, 0xff, sizeof b);
	assert_int_equal(crc32c(b, sizeof b), 0x62a8ab43);
	for (unsigned i = 0; i < sizeof b; i++)
		b[i] = (unsigned char)i;
	assert_int_equal(crc32c(b, sizeof b), 0x46dd794e);
	for (unsigned i = 0; i < 256; i++) {
		unsigned char byte = (unsigned char)i;
		uint32_t crc = ~(uint32_t)i & 0xff;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		assert_int_equal(crc32c(&byte, 1), ~(crc ^ 0xffffff));
	}
}

static uint64_t take(struct cursor *c, int bytes)
{
	uint64_t v = 0;
	assert_true(c->end - c->p >= bytes);
	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)*c->p++ << 8 * i;
	return v;
}

static uint64_t varint(struct cursor *c)
{
	uint64_t v = 0, byte;
	int shift = 0;
	do {
		byte = take(c, 1);
		v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static struct cursor inner(struct cursor *c)
{
	uint64_t n = varint(c);
	struct cursor in = { c->p, c->p + n };
	assert_true(n <= (uint64_t)(c->end - c->p));
	c->p += n;
	return in;
}

static void text(struct cursor c, char *out, size_t room)
{
	assert_true((size_t)(c.end - c.p) < room);
	memcpy(out, c.p, (size_t)(c.end - c.p));
}

static void read_summary(struct cursor c, struct event *e)
{
	uint32_t bits;
	assert_int_equal(varint(&c), 1 << 3 | 2);
	c = inner(&c);
	assert_int_equal(varint(&c), 1 << 3 | 2);
	text(inner(&c), e->tag, sizeof e->tag);
	assert_int_equal(varint(&c), 2 << 3 | 5);
	bits = (uint32_t)take(&c, 4);
	memcpy(&e->value, &bits, sizeof bits);
	assert_ptr_equal(c.p, c.end);
}

static void read_event(struct cursor c, struct event *e)
{
	while (c.p < c.end) {
		uint64_t bits, key = varint(&c);
		struct cursor log;
		switch (key) {
		case 1 << 3 | 1:
			bits = take(&c, 8);
			memcpy(&e->wall_time, &bits, sizeof bits);
			break;
		case 2 << 3:
			e->step = varint(&c);
			break;
		case 3 << 3 | 2:
			text(inner(&c), e->version, sizeof e->version);
			break;
		case 5 << 3 | 2:
			read_summary(inner(&c), e);
			break;
		case 7 << 3 | 2:
			log = inner(&c);
			assert_int_equal(varint(&log), 1 << 3);
			e->status = (int)varint(&log);
			assert_ptr_equal(log.p, log.end);
			break;
		default:
			fail_msg("unknown key %llu", (unsigned long long)key);
		}
	}
}

/* The next record of c into e, checksums verified. */
static void read_record(struct cursor *c, struct event *e)
{
	const unsigned char *head = c->p;
	uint64_t n = take(c, 8);
	memset(e, 0, sizeof *e);
	assert_int_equal(take(c, 4), crc32c_masked(head, 8));
	assert_true(n <= (uint64_t)(c->end - c->p));
	read_event((struct cursor){ c->p, c->p + n }, e);
	c->p += n;
	assert_int_equal(take(c, 4), crc32c_masked(c->p - n, n));
}

static void load(struct buf *b, struct cursor *c, const char *path)
{
	assert_int_equal(io_read_file(path, b), 0);
	c->p = (const unsigned char *)b->data;
	c->end = c->p + b->len;
}

static void test_scalars(void **unused)
{
	static const struct {
		int64_t step;
		const char *tag;
		double value;
	} cases[] = {
		{ 0, "loss/train", 0.25 }, { 1, "learning_rate", 1e-30 }, { 127, "x", -1.5 },
		{ 128, "", 0 }, { INT64_MAX, "validation/mean \xc3\xa9", 3e38 },
	};
	char dir[] = "tfevents-XXXXXX";
	struct buf b = BUF_INIT;
	struct tfevents *t;
	struct cursor c;
	struct event e;
	time_t before = time(NULL), after; /* in either order: a machine's clock may be set meanwhile */

	assert_non_null(mkdtemp(dir));
	assert_int_equal(tfevents_open(&t, dir, TFEVENTS_FRESH), 0);
	assert_non_null(strstr(tfevents_path(t), "/events.out.tfevents."));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(tfevents_scalar(t, cases[i].step, cases[i].tag, cases[i].value), 0);
	after = time(NULL);
	load(&b, &c, tfevents_path(t));
	read_record(&c, &e);
	assert_string_equal(e.version, "brain.Event:2");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		read_record(&c, &e);
		assert_true(e.step == (uint64_t)cases[i].step);
		assert_string_equal(e.tag, cases[i].tag);
		assert_true(e.value == (float)cases[i].value);
		assert_true(e.wall_time > (double)(before < after ? before : after) - 60);
		assert_true(e.wall_time < (double)(before < after ? after : before) + 60);
	}
	assert_ptr_equal(c.p, c.end);
	tfevents_close(t);
	buf_release(&b);
	io_remove_tree(dir);
}

/* A second file of the same second does not replace the first, and tells from where it goes on. */
static void test_resume(void **unused)
{
	char dir[] = "tfevents-XXXXXX";
	struct tfevents *first, *second;
	struct buf b = BUF_INIT;
	struct cursor c;
	struct event e;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(tfevents_open(&first, dir, TFEVENTS_FRESH), 0);
	assert_int_equal(tfevents_open(&second, dir, 300), 0);
	assert_string_not_equal(tfevents_path(first), tfevents_path(second));
	load(&b, &c, tfevents_path(second));
	read_record(&c, &e);
	assert_int_equal(e.status, 0);
	read_record(&c, &e);
	assert_int_equal(e.status, 1);
	assert_int_equal(e.step, 301);
	assert_ptr_equal(c.p, c.end);
	tfevents_close(first);
	tfevents_close(second);
	buf_release(&b);
	io_remove_tree(dir);
}

static void test_errors(void **unused)
{
	struct tfevents *t;
	assert_int_equal(tfevents_open(&t, "/no/such/folder", TFEVENTS_FRESH), E_CANTCREATE);
	assert_null(t);
	assert_non_null(strstr(err_get(0)->text, "'/no/such/folder/events"));
	err_clear();
}

static void test_allocates_nothing(void **unused)
{
	char dir[] = "tfevents-XXXXXX";
	struct tfevents *t;
	uint64_t before;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(tfevents_open(&t, dir, TFEVENTS_FRESH), 0);
	assert_int_equal(tfevents_scalar(t, 1 << 30, "loss/train", 1), 0);
	before = mem_count();
	for (int i = 0; i < 100; i++)
		assert_int_equal(tfevents_scalar(t, i, "loss/train", i), 0);
	assert_int_equal(mem_count(), before);
	tfevents_close(t);
	io_remove_tree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),    cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_resume), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
