/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The disk in memory: its calls do what the system's do, a crash leaves what the model allows and
 * nothing else, and the enumeration of crash states notices a disk that lies about a sync. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "crash_states.h"

/* --- the same calls on the system's disk and on this one --- */

struct both {
	struct disk *disk[2];
	const char *root[2];
	int fd[2][4];                  /* -1: closed */
	uint64_t random;
};

static int below(uint64_t *random, int n)
{
	return (int)(crash_draw(random) % (uint64_t)n);
}

static char *path_in(const struct both *b, int k, const char *name)
{
	struct buf path = BUF_INIT;
	buf_printf(&path, "%s/%s", b->root[k], name);
	return buf_detach(&path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_list(struct buf *out, struct disk *d, const char *path)
{
	const char *name[64];
	struct buf names = BUF_INIT;
	int n = 0;
	buf_printf(out, "%d", d->list(d, path, &names));
	for (size_t at = 0; at < names.len && n < 64; at += strlen(names.data + at) + 1)
		name[n++] = names.data + at;
	if (n)
		qsort(name, (size_t)n, sizeof *name, by_text);
	for (int i = 0; i < n; i++)
		buf_printf(out, " %s", name[i]);
	buf_release(&names);
}

static void add_stat(struct buf *out, struct disk *d, const char *path)
{
	struct disk_stat st = { 0 };
	int rc = d->stat(d, path, &st);
	buf_printf(out, "%d", rc);
	if (rc == 0)
		buf_printf(out, " %d %d", st.folder, st.folder ? 0 : (int)st.size);
}

static void transfer(struct buf *out, struct disk *d, int fd, int kind, int at, int n)
{
	char bytes[64];
	size_t done = 0;
	int rc;
	memset(bytes, 'a' + n % 26, sizeof bytes);
	if (kind == 0)
		rc = d->pread(d, fd, bytes, (size_t)n, (uint64_t)at, &done);
	else if (kind == 1)
		rc = d->pwrite(d, fd, bytes, (size_t)n, (uint64_t)at, &done);
	else
		rc = d->append(d, fd, bytes, (size_t)n, &done);
	buf_printf(out, "%d %zu %.*s", rc, done, kind == 0 ? (int)done : 0, bytes);
}

struct drawn {                     /* a call and its arguments */
	int call, fd, flags, at, n;
	const char *name, *other;
};

static void draw(struct drawn *c, uint64_t *random)
{
	static const char *const names[] = {
		"a", "b", "f", "f/a", "f/b", "f/g", "none/x", "a/x", "f/.."
	};
	static const int flags[] = {
		O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_TRUNC,
		O_RDONLY | O_DIRECTORY,
	};
	c->call = below(random, 11);
	c->fd = below(random, 4);
	c->flags = flags[below(random, sizeof flags / sizeof *flags)];
	c->at = below(random, 40);
	c->n = 1 + below(random, 30);
	c->name = names[below(random, sizeof names / sizeof *names)];
	c->other = names[below(random, sizeof names / sizeof *names)];
}

static void on_fd(struct both *b, int k, const struct drawn *c, struct buf *out)
{
	struct disk *d = b->disk[k];
	int *fd = &b->fd[k][c->fd];
	if (*fd < 0) {
		char *path = path_in(b, k, c->name);
		int rc = d->open(d, fd, path, c->flags);
		if (rc)
			*fd = -1;
		buf_printf(out, "open %d", rc);
		mem_free(path);
	} else if (c->call == 0) {
		buf_printf(out, "close %d", d->close(d, *fd));
		*fd = -1;
	} else if (c->call == 1)
		buf_printf(out, "sync %d", d->sync(d, *fd));
	else if (c->call == 2)
		buf_printf(out, "lock %d", d->lock(d, *fd));
	else
		transfer(out, d, *fd, c->call % 2, c->at, c->n);
}

static void perform(struct both *b, int k, const struct drawn *c, struct buf *out)
{
	struct disk *d = b->disk[k];
	char *path = path_in(b, k, c->name), *other = path_in(b, k, c->other);
	buf_clear(out);
	buf_printf(out, "call %d on '%s', '%s': ", c->call, c->name, c->other);
	switch (c->call) {
	case 6: buf_printf(out, "%d", d->rename(d, path, other)); break;
	case 7: buf_printf(out, "%d", d->unlink(d, path)); break;
	case 8: buf_printf(out, "%d", d->mkdir(d, path)); break;
	case 9: add_stat(out, d, path); break;
	case 10: add_list(out, d, path); break;
	default: on_fd(b, k, c, out); break;
	}
	mem_free(path);
	mem_free(other);
}

/* Whether a path is one of the last part "..", which systems treat in ways of their own. */
static bool odd(const struct drawn *c)
{
	const bool entry = c->call >= 6 && c->call <= 8;
	return entry && (strstr(c->name, "..") || strstr(c->other, ".."));
}

static void test_as_system(void **state)
{
	char folder[] = "/tmp/dlx-sim-XXXXXX";
	(void)state;
	assert_non_null(mkdtemp(folder));
	struct sim *s = sim_new();
	struct both b = { { disk_system(), sim_process(s) }, { folder, "/tmp" }, { { 0 } }, 7 };
	memset(b.fd, -1, sizeof b.fd);
	assert_int_equal(b.disk[1]->mkdir(b.disk[1], "/tmp"), 0);
	for (int i = 0; i < 4000; i++) {
		struct buf got[2] = { BUF_INIT, BUF_INIT };
		struct drawn c;
		draw(&c, &b.random);
		for (int k = 0; k < 2 && !odd(&c); k++)
			perform(&b, k, &c, &got[k]);
		assert_string_equal(got[0].data, got[1].data);
		buf_release(&got[0]);
		buf_release(&got[1]);
	}
	for (int i = 0; i < 4; i++)
		if (b.fd[0][i] >= 0)
			b.disk[0]->close(b.disk[0], b.fd[0][i]);
	sim_free(s);
	assert_int_equal(io_remove_tree(folder), 0);
}

/* --- what a crash leaves --- */

/* What is in /d/NAME after a crash behind all calls in which the changes of `lost` (bits) are lost;
 * "-": no such file. */
static const char *left(struct sim *s, unsigned lost, const struct sim_tear *tear, const char *path)
{
	static char text[64];
	int pending[32];
	bool kept[32];
	int n = sim_pending(s, s->ncalls, pending, 32);
	assert_true(n <= 32);
	for (int i = 0; i < n; i++)
		kept[i] = !(lost >> i & 1);
	struct sim_crash c = { .calls = s->ncalls, .npending = n, .pending = pending, .kept = kept,
		.torn = tear ? n - 1 : -1, .tear = tear ? *tear : (struct sim_tear){ 0 } };
	struct sim *after = sim_after(s, &c);
	struct buf b = BUF_INIT;
	int rc = disk_read_file(sim_process(after), path, &b);
	snprintf(text, sizeof text, "%s", rc < 0 ? "-" : b.data);
	err_clear();
	buf_release(&b);
	sim_free(after);
	return text;
}

struct one {                       /* a folder /d, durable, and a file in it that is open */
	struct sim *s;
	struct disk *d;
	int fd;
};

static struct one begin(const char *path)
{
	struct one o = { .s = sim_new() };
	o.d = sim_process(o.s);
	assert_int_equal(disk_mkdirs(o.d, "/d"), 0);
	assert_int_equal(o.d->open(o.d, &o.fd, path, O_RDWR | O_CREAT), 0);
	return o;
}

static void write_text(const struct one *o, const char *text, uint64_t at)
{
	size_t done;
	assert_int_equal(o->d->pwrite(o->d, o->fd, text, strlen(text), at, &done), 0);
	assert_int_equal(done, strlen(text));
}

static void test_data(void **state)
{
	struct one o = begin("/d/a");
	(void)state;
	assert_int_equal(disk_sync_folder(o.d, "/d"), 0);
	write_text(&o, "12345", 0);
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "12345");
	assert_string_equal(left(o.s, 1, NULL, "/d/a"), "");
	assert_string_equal(left(o.s, 0, &(struct sim_tear){ 2, SIM_TAIL_NONE }, "/d/a"), "12");
	assert_int_equal(o.d->sync(o.d, o.fd), 0);
	assert_string_equal(left(o.s, ~0u, NULL, "/d/a"), "12345");
	write_text(&o, "ab", 1);
	write_text(&o, "XYZ", 4);
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "1ab4XYZ");
	assert_string_equal(left(o.s, 1, NULL, "/d/a"), "1234XYZ");
	assert_string_equal(left(o.s, 2, NULL, "/d/a"), "1ab45");
	assert_string_equal(left(o.s, 0, &(struct sim_tear){ 1, SIM_TAIL_OLD }, "/d/a"), "1ab4X");
	sim_free(o.s);
}

static void test_entries(void **state)
{
	struct one o = begin("/d/a");
	(void)state;
	write_text(&o, "old", 0);
	assert_int_equal(o.d->sync(o.d, o.fd), 0);
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "old");
	assert_string_equal(left(o.s, 1, NULL, "/d/a"), "-");   /* a synced file without a name */
	assert_int_equal(disk_sync_folder(o.d, "/d"), 0);
	assert_string_equal(left(o.s, ~0u, NULL, "/d/a"), "old");
	o.d->close(o.d, o.fd);
	assert_int_equal(o.d->open(o.d, &o.fd, "/d/b", O_RDWR | O_CREAT), 0);
	write_text(&o, "new", 0);
	assert_int_equal(o.d->rename(o.d, "/d/b", "/d/a"), 0);
	/* pending: the making of b, its bytes, the rename */
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "new");
	assert_string_equal(left(o.s, 1, NULL, "/d/a"), "new");
	assert_string_equal(left(o.s, 2, NULL, "/d/a"), "");
	assert_string_equal(left(o.s, 4, NULL, "/d/a"), "old");
	assert_string_equal(left(o.s, 4, NULL, "/d/b"), "new");
	assert_string_equal(left(o.s, 5, NULL, "/d/b"), "-");
	assert_int_equal(o.d->unlink(o.d, "/d/a"), 0);
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "-");
	assert_string_equal(left(o.s, 8, NULL, "/d/a"), "new");
	sim_free(o.s);
}

static void test_failed_sync(void **state)
{
	struct one o = begin("/d/a");
	(void)state;
	assert_int_equal(disk_sync_folder(o.d, "/d"), 0);
	write_text(&o, "1", 0);
	assert_int_equal(o.d->sync(o.d, o.fd), 0);
	write_text(&o, "2", 1);
	sim_set_fault(o.d, &(struct sim_fault){ SIM_BIT(SYNC), 0, 1, EIO, false });
	assert_int_equal(o.d->sync(o.d, o.fd), EIO);
	write_text(&o, "3", 2);
	assert_int_equal(o.d->sync(o.d, o.fd), 0);
	assert_string_equal(left(o.s, 0, NULL, "/d/a"), "123");
	assert_memory_equal(left(o.s, 1, NULL, "/d/a"), "1\0003", 3);   /* what failed is never sure */
	write_text(&o, "4", 3);
	sim_set_fault(o.d, &(struct sim_fault){ SIM_BIT(SYNC), 0, 1, ENOSPC, true });
	assert_int_equal(o.d->sync(o.d, o.fd), ENOSPC);
	struct buf b = BUF_INIT;
	assert_int_equal(disk_read_file(o.d, "/d/a", &b), 0);
	assert_int_equal(b.len, 3);                                      /* and gone at once here */
	buf_release(&b);
	sim_free(o.s);
}

static void test_faults(void **state)
{
	struct one o = begin("/d/a");
	struct buf b = BUF_INIT;
	int error = 0;
	(void)state;
	for (int k = 0; k < 40; k++) {     /* helpers repeat what is interrupted or short */
		sim_set_fault(o.d, &(struct sim_fault){ SIM_ANY & ~(SIM_BIT(RENAME) | SIM_BIT(UNLINK) |
			SIM_BIT(STAT) | SIM_BIT(LIST) | SIM_BIT(MKDIR)), k, 3, k % 2 ? EINTR : 0, false });
		assert_int_equal(disk_write_file(o.d, "/d/b", "1234567", 7), 0);
		buf_clear(&b);
		assert_int_equal(disk_read_file(o.d, "/d/b", &b), 0);
		assert_string_equal(b.data, "1234567");
	}
	for (int k = 0; error == 0; k++) { /* and what fails leaves the old content and no litter */
		sim_set_fault(o.d, &(struct sim_fault){ SIM_CHANGES & ~SIM_BIT(UNLINK), k, 1, ENOSPC,
		                                        false });
		error = disk_write_file(o.d, "/d/b", "abc", 3) == 0;
		sim_set_fault(o.d, NULL);
		struct disk_names names;
		assert_int_equal(disk_list(&names, o.d, "/d"), 0);
		assert_int_equal(names.n, 2);
		disk_names_release(&names);
		buf_clear(&b);
		assert_int_equal(disk_read_file(o.d, "/d/b", &b), 0);
		assert_true(strcmp(b.data, "abc") == 0 || strcmp(b.data, "1234567") == 0);
		assert_true(k < 20);
	}
	err_clear();
	buf_release(&b);
	sim_free(o.s);
}

static void test_locks(void **state)
{
	struct one o = begin("/d/a");
	struct disk *other = sim_process(o.s);
	int fd;
	(void)state;
	assert_int_equal(other->open(other, &fd, "/d/a", O_RDWR), 0);
	assert_int_equal(o.d->lock(o.d, o.fd), 0);
	assert_int_equal(other->lock(other, fd), EWOULDBLOCK);
	sim_end(o.d);
	assert_int_equal(other->lock(other, fd), 0);
	o.s->lock_error = ENOTSUP;
	assert_int_equal(other->lock(other, fd), ENOTSUP);
	assert_int_equal(o.d->unlink(o.d, "/d/a"), EIO);        /* it is dead */
	assert_true(disk_exists(other, "/d/a"));
	sim_free(o.s);
}

/* --- the enumeration --- */

/* A file that is replaced: whole, and the new one from the moment on in which that was said. */
struct replaced {
	int said;                      /* number of the call behind which it was */
};

static int promised(void *arg, int calls)
{
	return calls >= ((struct replaced *)arg)->said;
}

static bool judge(void *arg, struct sim *after, int calls, struct buf *why)
{
	struct buf b = BUF_INIT;
	int rc = disk_read_file(sim_process(after), "/d/a", &b);
	err_clear();
	bool good = rc == 0 && (strcmp(b.data, "new") == 0 ||
	                        (strcmp(b.data, "old") == 0 && !promised(arg, calls)));
	if (!good)
		buf_printf(why, "'%s', %s", b.data, promised(arg, calls) ? "new was promised" : "early");
	buf_release(&b);
	return good;
}

static struct crash_counts walk_replaced(unsigned lies)
{
	struct one o = begin("/d/a");
	struct crash_counts counts = { 0 };
	struct replaced r;
	o.d->close(o.d, o.fd);
	assert_int_equal(disk_write_file(o.d, "/d/a", "old", 3), 0);
	o.s->lies = lies;
	int from = o.s->ncalls;
	assert_int_equal(disk_write_file(o.d, "/d/a", "new", 3), 0);
	r.said = o.s->ncalls;
	crash_walk(o.s, from, o.s->ncalls,
	           &(struct crash_limits){ .random = 20, .share = 1, .quiet = lies != 0 },
	           &(struct crash_judge){ judge, promised, &r }, &counts);
	sim_free(o.s);
	return counts;
}

static void test_enumeration(void **state)
{
	struct crash_counts c = walk_replaced(0);
	(void)state;
	assert_true(c.states > 10);
	assert_int_equal(c.wrong, 0);
	assert_true(walk_replaced(SIM_LIE_FOLDERS).wrong > 0);
	assert_true(walk_replaced(SIM_LIE_FILES).wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_system), cmocka_unit_test(test_data),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_failed_sync),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_locks),
		cmocka_unit_test(test_enumeration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
