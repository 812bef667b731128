/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Four kinds of protobuf field are all that scalars need, so they are encoded here, inner message
 * first, into buffers that are used again. */
#include "report/tfevents.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/simd.h"
#include "report/crc32c.h"

struct tfevents {
	int fd;
	char *path;
	struct buf value, summary, event, record;
};

/* --- protobuf --- */

enum { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 };

static void put_varint(struct buf *b, uint64_t v)
{
	while (v >= 0x80) {
		buf_putc(b, (char)(v | 0x80));
		v >>= 7;
	}
	buf_putc(b, (char)v);
}

static void put_key(struct buf *b, unsigned field, unsigned wire)
{
	put_varint(b, field << 3 | wire);
}

static void put_little_endian(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_putc(b, (char)(v >> 8 * i));
}

static void put_double(struct buf *b, unsigned field, double v)
{
	put_key(b, field, WIRE_DOUBLE);
	put_little_endian(b, simd_bits64(v), 8);
}

static void put_float(struct buf *b, unsigned field, float v)
{
	put_key(b, field, WIRE_FLOAT);
	put_little_endian(b, simd_bits(v), 4);
}

static void put_bytes(struct buf *b, unsigned field, const char *p, size_t n)
{
	put_key(b, field, WIRE_BYTES);
	put_varint(b, n);
	buf_add(b, p, n);
}

/* --- records --- */

static double wall_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Empties the event and fills in what every event has. */
static void begin(struct tfevents *t, int64_t step)
{
	buf_clear(&t->event);
	put_double(&t->event, 1, wall_time());
	put_key(&t->event, 2, WIRE_VARINT);
	put_varint(&t->event, (uint64_t)step);
}

static int end(struct tfevents *t)
{
	struct buf *r = &t->record;
	buf_clear(r);
	put_little_endian(r, t->event.len, 8);
	put_little_endian(r, crc32c_masked(r->data, 8), 4);
	buf_add(r, t->event.data, t->event.len);
	put_little_endian(r, crc32c_masked(t->event.data, t->event.len), 4);
	return io_append(t->fd, t->path, r->data, r->len);
}

static int put_version(struct tfevents *t)
{
	static const char version[] = "brain.Event:2";
	begin(t, 0);
	put_bytes(&t->event, 3, version, sizeof version - 1);
	return end(t);
}

static int put_restart(struct tfevents *t, int64_t step)
{
	static const char status_start[] = { 1 << 3 | WIRE_VARINT, 1 };
	begin(t, step);
	put_bytes(&t->event, 7, status_start, sizeof status_start);
	return end(t);
}

int tfevents_scalar(struct tfevents *t, int64_t step, const char *tag, double value)
{
	buf_clear(&t->value);
	put_bytes(&t->value, 1, tag, strlen(tag));
	put_float(&t->value, 2, (float)value);
	buf_clear(&t->summary);
	put_bytes(&t->summary, 1, t->value.data, t->value.len);
	begin(t, step);
	put_bytes(&t->event, 5, t->summary.data, t->summary.len);
	return end(t);
}

/* --- the file --- */

/* The serial number distinguishes files that one process makes within a second. */
static char *file_name(const char *dir)
{
	static unsigned serial;
	struct buf name = BUF_INIT;
	char host[128] = "", *path;
	if (gethostname(host, sizeof host - 1) < 0 || !host[0] || strchr(host, '/'))
		strcpy(host, "host");
	buf_printf(&name, "events.out.tfevents.%010lld.%s.%ld.%u", (long long)time(NULL), host,
	           (long)getpid(), serial++);
	path = io_join(dir, name.data);
	buf_release(&name);
	return path;
}

int tfevents_open(struct tfevents **out, const char *dir, int64_t resume_step)
{
	struct tfevents *t = mem_calloc(1, sizeof *t);
	int rc;
	buf_init(&t->value);
	buf_init(&t->summary);
	buf_init(&t->event);
	buf_init(&t->record);
	t->path = file_name(dir);
	t->fd = io_open_log(t->path, true);
	rc = t->fd < 0 ? t->fd : put_version(t);
	if (rc == 0 && resume_step >= 0)
		rc = put_restart(t, resume_step + 1);
	if (rc < 0) {
		tfevents_close(t);
		t = NULL;
	}
	*out = t;
	return rc;
}

void tfevents_close(struct tfevents *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	buf_release(&t->value);
	buf_release(&t->summary);
	buf_release(&t->event);
	buf_release(&t->record);
	mem_free(t->path);
	mem_free(t);
}

const char *tfevents_path(const struct tfevents *t)
{
	return t->path;
}
