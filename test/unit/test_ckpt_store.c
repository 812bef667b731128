/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a store of chunks adds to single checkpoints: several ranks write one version, several runs
 * share a store, what does not change is stored once, tags and the keep policy, and the way back
 * after runs that got nowhere. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "cases.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/holds.h"
#include "ckpt/refs.h"
#include "ckpt/sealed.h"
#include "ckpt_fixture.h"

static const struct ckpt_config keep9 = { .keep = { 9, 1, 0 }, .compression = 1 };

/* --- several ranks --- */

#define RANK_COUNT 3
#define LONG ((size_t)3 << 20)         /* floats: three chunks */

static void fill(float *x, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)((i + seed) * 2654435761u % 1000003);
}

/* Each rank writes a part, and any one process reads the whole. */
static void test_ranks(void **state)
{
	struct ckpt_store *s[RANK_COUNT];
	struct ckpt_version *v;
	float *x = mem_alloc(LONG * sizeof *x);
	struct ckpt_tensor t = { "x", DTYPE_F32, shape_of(1, (int64_t[]){ (int64_t)LONG }), x, true };
	struct ckpt_state large = { .step = 1, .metric = NAN, .ntensors = 1, .tensor = &t };
	struct ckpt_done done;

	fill(x, LONG, 0);
	for (int r = 0; r < RANK_COUNT; r++) {
		struct ckpt_share share = { r, RANK_COUNT, "0123456789" };
		assert_int_equal(ckpt_open(&s[r], *state, &keep9, &share), 0);
	}
	for (int r = 0; r < RANK_COUNT; r++)
		assert_int_equal(ckpt_save(s[r], &large), 0);
	for (int r = 0; r < RANK_COUNT; r++)
		assert_int_equal(ckpt_wait(s[r]), 0);
	assert_true(ckpt_poll(s[0], &done));
	assert_int_equal(done.raw, LONG * sizeof *x);
	assert_int_equal(fixture_packs(*state), RANK_COUNT);
	for (int r = RANK_COUNT - 1; r >= 0; r--)
		ckpt_close(s[r]);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_memory_equal(ckpt_version_find(v, "x")->data, x, LONG * sizeof *x);
	ckpt_version_free(v);
	assert_int_equal(fixture_leftovers(*state), 0);
	mem_free(x);
}

/* --- a host's own disk --- */

/* Two stores of one run, given the same state and age, have the same version; the order goes on
 * from the age that is given. */
static void test_same_version(void **state)
{
	char run[CKPT_RUN], other[512];
	struct ckpt_store *s, *t;
	struct ckpt_done a, b;
	snprintf(other, sizeof other, "%s.host", (const char *)*state);
	struct ckpt_state one = { .step = 1, .metric = NAN, .age = { 1764000000, 6 } };
	assert_int_equal(ckpt_open(&s, *state, &keep9, NULL), 0);
	ckpt_run_of(*state, run);
	assert_string_equal(run, ckpt_run(s));
	const struct ckpt_share share = { .ranks = 1, .save = "0123456789", .run = run };
	assert_int_equal(ckpt_open(&t, other, &keep9, &share), 0);
	assert_int_equal(ckpt_newest(t).serial, 0);
	assert_int_equal(ckpt_save(s, &one), 0);
	assert_int_equal(ckpt_save(t, &one), 0);
	assert_int_equal(ckpt_wait(s), 0);
	assert_int_equal(ckpt_wait(t), 0);
	assert_true(ckpt_poll(s, &a) && ckpt_poll(t, &b));
	assert_string_equal(a.id, b.id);
	assert_int_equal(ckpt_newest(t).serial, 7);
	assert_int_equal(ckpt_newest(t).time, 1764000000);
	ckpt_discard(t);
	assert_false(io_exists(other));
	ckpt_close(t);
	ckpt_close(s);
}

/* A folder that another run has is refused. */
static void test_other_run(void **state)
{
	struct ckpt_store *s;
	const struct ckpt_share share = { .ranks = 1, .save = "0123456789",
		.run = "0123456789abcdef0123456789abcdef" };
	assert_int_equal(ckpt_open(&s, *state, &keep9, NULL), 0);
	ckpt_close(s);
	assert_int_equal(ckpt_open(&s, *state, &keep9, &share), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "another run"));
	err_clear();
}

/* --- failures --- */

static int writes_left;                /* until one fails */

static int fail_to_write(struct disk *d, int fd, const void *p, size_t n, uint64_t at, size_t *done)
{
	if (--writes_left == 0)
		return EIO;
	return disk_system()->pwrite(d, fd, p, n, at, done);
}

/* Large chunks are written while the next ones are coded: whichever write fails, the save does, and
 * nothing of it is left. */
static void test_large_failures(void **state)
{
	struct disk disk = *disk_system();
	struct ckpt_store *s;
	struct ckpt_version *v;
	float *x = mem_alloc(LONG * sizeof *x);
	struct ckpt_tensor t = { "x", DTYPE_F32, shape_of(1, (int64_t[]){ (int64_t)LONG }), x, true };
	struct ckpt_state large = { .metric = NAN, .ntensors = 1, .tensor = &t };
	int failed = 0, rc;
	disk.pwrite = fail_to_write;
	writes_left = 0;
	assert_int_equal(ckpt_open_on(&s, &disk, *state, &keep9, NULL), 0);
	do {
		large.step++;
		fill(x, LONG, (unsigned)large.step);
		writes_left = failed + 1;
		rc = ckpt_save(s, &large);
		assert_int_equal(rc, 0);
		rc = ckpt_wait(s);
		assert_int_equal(fixture_leftovers(*state), 0);
		if (rc < 0) {
			assert_int_equal(rc, E_IO);
			assert_non_null(strstr(err_get(0)->text, "Input/output error"));
			err_clear();
			failed++;
		}
	} while (rc < 0);
	assert_true(failed >= 6);          /* the magic, three chunks, the index; the manifest */
	ckpt_close(s);
	assert_int_equal(ckpt_load(&v, *state, "auto"), 0);
	assert_memory_equal(ckpt_version_find(v, "x")->data, x, LONG * sizeof *x);
	ckpt_version_free(v);
	mem_free(x);
}

/* --- sizes --- */

/* Random weights, as a network begins with, and the moments of Adam after some steps. */
static void fill_normal(float *x, size_t n, uint64_t seed, float scale, bool square)
{
	uint64_t bits = seed * 0x9e3779b97f4a7c15u + 1;
	for (size_t i = 0; i < n; i++) {
		float sum = -6;
		for (int k = 0; k < 12; k++) {
			bits = bits * 6364136223846793005u + 1442695040888963407u;
			sum += (float)(bits >> 40) / 16777216;
		}
		x[i] = scale * (square ? sum * sum : sum);
	}
}

#define PART ((size_t)1 << 20)         /* floats of each tensor */

struct network {
	float *x[6];                       /* frozen weight, its moments; a trained one, its moments */
	struct ckpt_tensor tensor[6];
	struct ckpt_state state;
};

static void network_make(struct network *n)
{
	static const char *const names[] = { "encoder", "encoder.m", "encoder.v", "head", "head.m",
		"head.v" };
	for (int i = 0; i < 6; i++) {
		const size_t size = i < 3 ? PART : PART / 64;
		n->x[i] = mem_alloc(size * sizeof(float));
		fill_normal(n->x[i], size, (uint64_t)i + 1, i % 3 == 0 ? 0.05f : 1e-3f, i % 3 == 2);
		n->tensor[i] = (struct ckpt_tensor){ names[i], DTYPE_F32,
			shape_of(1, (int64_t[]){ (int64_t)size }), n->x[i], i % 3 == 0 };
	}
	n->state = (struct ckpt_state){ .step = 1, .metric = NAN, .ntensors = 6, .tensor = n->tensor };
}

static void network_free(struct network *n)
{
	for (int i = 0; i < 6; i++)
		mem_free(n->x[i]);
}

/* Byte planes make floats smaller, and layers that do not change cost nothing the second time. */
static void test_sizes(void **state)
{
	struct ckpt_store *s;
	struct ckpt_done first, second;
	struct network n;
	network_make(&n);
	assert_int_equal(ckpt_open(&s, *state, &keep9, NULL), 0);
	assert_int_equal(ckpt_save(s, &n.state), 0);
	assert_int_equal(ckpt_wait(s), 0);
	assert_true(ckpt_poll(s, &first));
	for (int i = 3; i < 6; i++)
		fill_normal(n.x[i], PART / 64, 20 + (uint64_t)i, 0.1f, false);
	n.state.step = 2;
	assert_int_equal(ckpt_save(s, &n.state), 0);
	assert_int_equal(ckpt_wait(s), 0);
	assert_true(ckpt_poll(s, &second));
	ckpt_close(s);
	if ((double)first.bytes > 0.85 * (double)first.raw)
		fail_msg("%llu bytes of %llu", (unsigned long long)first.bytes,
		         (unsigned long long)first.raw);
	assert_true((double)second.bytes <= 0.05 * (double)first.bytes);
	network_free(&n);
}

/* --- several runs --- */

static int save_steps(const char *dir, const char *store, int64_t first, int64_t last,
                      struct ckpt_keep keep)
{
	struct ckpt_config c = { .keep = keep, .compression = 1, .store = store };
	struct ckpt_store *s;
	struct fixture f;
	int rc = ckpt_open(&s, dir, &c, NULL);
	for (int64_t step = first; step <= last && rc == 0; step++) {
		fixture_make(&f, step);
		rc = ckpt_save(s, &f.state);
		if (rc == 0)
			rc = ckpt_wait(s);
	}
	ckpt_close(s);
	return rc;
}

static void expect_step(const char *dir, const char *which, int64_t step)
{
	struct ckpt_version *v;
	if (ckpt_load(&v, dir, which) < 0)
		fail_msg("%s: %s", which, err_get(0)->text);
	assert_int_equal(ckpt_version_state(v)->step, step);
	assert_true(fixture_equal(v));
	ckpt_version_free(v);
}

/* Each run has its own newest version, and drops no version and no chunk of the other. */
static void test_two_runs(void **state)
{
	char *a = fixture_path(*state, "a", NULL), *b = fixture_path(*state, "b", NULL);
	char *store = fixture_path(*state, "store", NULL), id[16][64];
	struct ckpt_version *v;
	struct ckpt_store *open[2];
	struct ckpt_config c = { .keep = { 2, 0, 0 }, .compression = 1, .store = store };
	struct fixture f;
	assert_int_equal(ckpt_open(&open[0], a, &c, NULL), 0);
	assert_int_equal(ckpt_open(&open[1], b, &c, NULL), 0);
	for (int64_t step = 11; step <= 16; step++) {
		struct ckpt_store *s = open[step % 2];
		fixture_make(&f, step);
		assert_int_equal(ckpt_save(s, &f.state), 0);
		assert_int_equal(ckpt_wait(s), 0);
	}
	ckpt_close(open[0]);
	ckpt_close(open[1]);
	assert_int_equal(fixture_ids(store, id, 16), 4);
	expect_step(a, "auto", 16);
	expect_step(b, "auto", 15);
	expect_step(b, "13", 13);
	assert_int_equal(ckpt_load(&v, b, "14"), E_NOINPUT);
	err_clear();
	expect_step(b, id[1], 14);         /* another run's, by its id */
	expect_step(b, "14-", 14);
	assert_int_equal(save_steps(a, NULL, 17, 17, c.keep), 0);   /* run.json knows the store */
	expect_step(a, "auto", 17);
	assert_int_equal(save_steps(a, b, 18, 18, c.keep), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "checkpoint.store"));
	mem_free(a);
	mem_free(b);
	mem_free(store);
}

/* --- what stays --- */

static void test_every_nth(void **state)
{
	char id[16][64];
	assert_int_equal(save_steps(*state, NULL, 7, 19, (struct ckpt_keep){ 1, 0, 5 }), 0);
	assert_int_equal(fixture_ids(*state, id, 16), 3);
	expect_step(*state, "10", 10);
	expect_step(*state, "15", 15);
	expect_step(*state, "auto", 19);
	assert_int_equal(fixture_packs(*state), 3);
}

static void test_tags(void **state)
{
	char id[16][64];
	const struct ckpt_keep one = { 1, 0, 0 };
	assert_int_equal(save_steps(*state, NULL, 11, 12, (struct ckpt_keep){ 2, 0, 0 }), 0);
	assert_int_equal(fixture_ids(*state, id, 16), 2);
	assert_int_equal(refs_set_tag(disk_system(), *state, "paper", id[0]), 0);
	assert_int_equal(refs_set_pin(disk_system(), *state, id[1]), 0);
	assert_int_equal(save_steps(*state, NULL, 13, 15, one), 0);
	assert_int_equal(fixture_ids(*state, id, 16), 3);
	expect_step(*state, "paper", 11);
	expect_step(*state, "12", 12);
	assert_int_equal(refs_drop_pin(disk_system(), *state, id[1]), 0);
	assert_int_equal(save_steps(*state, NULL, 16, 16, one), 0);
	assert_int_equal(fixture_ids(*state, id, 16), 2);
}

/* --- what another dlx, or another machine, has written --- */

/* The version with the first `from` of its manifest replaced, under a hash that is right again and
 * the name that goes with it. */
static void rewrite(const char *dir, const char *id, const char *from, const char *to)
{
	struct buf text = BUF_INIT, edited = BUF_INIT;
	char hash[HASH128_TEXT], name[64];
	char *old = fixture_manifest(dir, id);
	assert_int_equal(io_read_file(old, &text), 0);
	text.data[text.len - 1] = '\0';
	*strstr(text.data, ",\n  \"hash\": ") = '\0';
	const char *hit = strstr(text.data, from);
	assert_non_null(hit);
	buf_add(&edited, text.data, (size_t)(hit - text.data));
	buf_printf(&edited, "%s%s", to, hit + strlen(from));
	hash128_text(sealed_end(&edited, 0), hash);
	snprintf(name, sizeof name, "%.13s%.8s", id, hash);
	char *new = fixture_manifest(dir, name);
	assert_int_equal(io_write_file(new, edited.data, edited.len), 0);
	assert_int_equal(unlink(old), 0);
	mem_free(new);
	mem_free(old);
	buf_release(&edited);
	buf_release(&text);
}

static void expect_refused(const char *dir, const char *which, int code, const char *text)
{
	struct ckpt_version *v;
	bool said = false;
	assert_int_equal(ckpt_load(&v, dir, which), code);
	for (int i = 0; i < err_count(); i++)
		said |= strstr(err_get(i)->text, text) != NULL;
	if (!said)
		fail_msg("%s: '%s' does not say '%s'", which, err_get(0)->text, text);
	err_clear();
}

/* A version that cannot be read is refused by the name of what it is, also where it is requested;
 * others are taken in its place, and it stays, with its chunks. */
static void test_foreign_version(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "dlx checkpoint 2", "dlx checkpoint 3", "'dlx checkpoint 3', of a later dlx" },
		{ "\"byte_order\": \"little\"", "\"byte_order\": \"big\"", "the byte order 'big'" },
	};
	for (int i = 0; i < 2; i++) {
		char *dir = fixture_path(*state, i ? "order" : "later", NULL), id[16][64];
		assert_int_equal(save_steps(dir, NULL, 11, 12, keep9.keep), 0);
		assert_int_equal(fixture_ids(dir, id, 16), 2);
		rewrite(dir, id[1], cases[i].from, cases[i].to);
		assert_int_equal(fixture_ids(dir, id, 16), 2);
		expect_refused(dir, id[1], E_DATA, cases[i].says);
		expect_step(dir, "auto", 11);
		assert_int_equal(save_steps(dir, NULL, 13, 14, (struct ckpt_keep){ 1, 0, 0 }), 0);
		assert_int_equal(fixture_ids(dir, id, 16), 2);
		assert_int_equal(strncmp(id[0], "000000000012-", 13), 0);
		assert_int_equal(fixture_packs(dir), 4);         /* what it needs is not known */
		expect_step(dir, "auto", 14);
		rewrite(dir, id[1], cases[i].from, cases[i].to);
		expect_refused(dir, "last", E_DATA, "none of the 2 checkpoints");
		mem_free(dir);
	}
}

/* A byte of a file of the store replaced, at -1 the last one; what is read must not be an output of
 * ours. */
static void poke(const char *path, long at, char c)
{
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	assert_int_equal(fputc(c, f), c);
	assert_int_equal(fclose(f), 0);
}

/* A pack or a run.json of a later version ends a run before it saves anything. */
static void test_later_files(void **state)
{
	struct buf text = BUF_INIT;
	char id[16][64];
	assert_int_equal(save_steps(*state, NULL, 11, 11, keep9.keep), 0);
	char *pack = fixture_pack(*state, 11), *link = fixture_path(*state, "run.json", NULL);
	poke(pack, 7, '3');
	expect_refused(*state, "11", E_DATA, "has the chunk");
	poke(pack, -1, 'F');
	expect_refused(*state, "11", E_UNSUPPORTED, "is a pack of version 3 of its format");
	expect_refused(*state, "auto", E_DATA, "none of the 1 checkpoints");
	assert_int_equal(save_steps(*state, NULL, 12, 12, keep9.keep), E_UNSUPPORTED);
	err_clear();
	assert_int_equal(fixture_ids(*state, id, 16), 1);
	poke(pack, 7, '2');
	poke(pack, -1, 'E');
	expect_step(*state, "auto", 11);
	assert_int_equal(io_read_file(link, &text), 0);
	*strstr(text.data, ",\n  \"hash\": ") = '\0';
	text.len = strlen(text.data);
	strstr(text.data, "dlx run 1")[strlen("dlx run ")] = '2';
	sealed_end(&text, 0);
	assert_int_equal(io_write_file(link, text.data, text.len), 0);
	expect_refused(*state, "auto", E_DATA, "'dlx run 2', of a later dlx");
	assert_int_equal(save_steps(*state, NULL, 12, 12, keep9.keep), E_DATA);
	err_clear();
	assert_int_equal(fixture_ids(*state, id, 16), 1);
	buf_release(&text);
	mem_free(link);
	mem_free(pack);
}

/* --- file systems without locks --- */

static int lock_error;                 /* of folders, and of files unless it is EBADF */

static int fail_to_lock(struct disk *d, int fd)
{
	struct stat st;
	(void)d;
	if (lock_error == EBADF && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		return disk_system()->lock(disk_system(), fd);
	return lock_error;
}

static int save_on(struct ckpt_store *s, int64_t step)
{
	struct fixture f;
	fixture_make(&f, step);
	TRY(ckpt_save(s, &f.state));
	return ckpt_wait(s);
}

/* Two processes save in one folder. What the first has under way the second does not take for
 * leftovers: not its file in packs/, not its hold, which keeps packs from being removed. */
static void test_no_locks(void **state)
{
	static const int errors[] = { ENOLCK, ENOSYS, EOPNOTSUPP };
	struct disk disk = *disk_system();
	disk.lock = fail_to_lock;
	for (int i = 0; i < 3; i++) {
		const struct ckpt_config one = { .keep = { 1, 0, 0 }, .compression = 1 };
		struct ckpt_store *a, *b;
		struct hold *h;
		char *dir = fixture_path(*state, (const char *[]){ "x", "y", "z" }[i], NULL);
		char *file = fixture_path(dir, "packs", ".tmp-other.pack-1-1");
		lock_error = errors[i];
		assert_int_equal(ckpt_open_on(&a, &disk, dir, &one, NULL), 0);
		assert_int_equal(save_on(a, 11), 0);
		assert_int_equal(hold_take(&h, &disk, dir, HOLD_SAVE, ckpt_run(a)), 0);
		assert_int_equal(io_write_file(file, "", 0), 0);
		assert_int_equal(ckpt_open_on(&b, &disk, dir, &one, NULL), 0);
		assert_int_equal(save_on(b, 12), 0);       /* removes version 11, but no pack */
		assert_true(io_exists(file));
		assert_int_equal(fixture_packs(dir), 2);
		hold_drop(h);
		assert_int_equal(save_on(a, 13), 0);       /* removes only what is of its own */
		expect_step(dir, "12", 12);
		expect_step(dir, "13", 13);
		ckpt_close(a);
		ckpt_close(b);
		mem_free(file);
		mem_free(dir);
	}
}

/* NFS locks files, but no folders. */
static void test_files_lock(void **state)
{
	struct disk disk = *disk_system();
	struct ckpt_store *a, *b;
	disk.lock = fail_to_lock;
	lock_error = EBADF;
	assert_int_equal(ckpt_open_on(&a, &disk, *state, &keep9, NULL), 0);
	assert_int_equal(ckpt_open_on(&b, &disk, *state, &keep9, NULL), E_UNAVAILABLE);
	assert_non_null(strstr(err_get(0)->text, "another process saves"));
	err_clear();
	assert_int_equal(save_on(a, 11), 0);
	ckpt_close(a);
	assert_int_equal(ckpt_open_on(&b, &disk, *state, &keep9, NULL), 0);
	ckpt_close(b);
	expect_step(*state, "auto", 11);
}

/* --- runs that get nowhere --- */

static void resume_in_vain(const char *dir)
{
	struct ckpt_version *v;
	struct ckpt_store *s;
	assert_int_equal(ckpt_load(&v, dir, "auto"), 0);
	assert_int_equal(ckpt_open(&s, dir, &keep9, NULL), 0);
	ckpt_set_parent(s, ckpt_version_id(v));
	ckpt_resumed(s, ckpt_version_id(v));
	ckpt_close(s);
	ckpt_version_free(v);
}

static void test_fall_back(void **state)
{
	struct ckpt_store *s;
	assert_int_equal(save_steps(*state, NULL, 11, 13, keep9.keep), 0);
	for (int i = 0; i < RESUMES_MOST; i++) {
		expect_step(*state, "auto", 13);
		resume_in_vain(*state);
	}
	for (int i = 0; i < RESUMES_MOST; i++) {
		expect_step(*state, "auto", 12);
		expect_step(*state, "last", 13);
		resume_in_vain(*state);
	}
	for (int i = 0; i < RESUMES_MOST + 1; i++) {
		expect_step(*state, "auto", 11);   /* there is none before */
		resume_in_vain(*state);
	}
	assert_int_equal(ckpt_open(&s, *state, &keep9, NULL), 0);
	ckpt_ended(s);
	ckpt_close(s);
	expect_step(*state, "auto", 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ranks, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_same_version, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_other_run, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_large_failures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_sizes, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_two_runs, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_every_nth, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_tags, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_version, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_later_files, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_no_locks, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_files_lock, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_fall_back, fixture_setup, fixture_teardown),
	};
	log_init("test_ckpt_store", 0, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
