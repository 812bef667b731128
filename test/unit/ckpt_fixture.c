/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ckpt_fixture.h. A child is a new program, not a fork, because fault injection counts what the
 * process has done since its start. */
#include "ckpt_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

extern char **environ;

void fixture_make(struct fixture *f, int64_t step)
{
	static const int64_t none[2] = { 0, 4 };
	memset(f, 0, sizeof *f);
	for (int i = 0; i < 18; i++)
		f->weight[i] = (float)(sin((double)(step * 18 + i)) / 3);
	for (int i = 0; i < 7; i++)
		f->mean[i] = (float)(step + i) / 7;
	for (int i = 0; i < 3; i++)
		f->bias[i] = (double)(step - i) / 3e10;
	for (int i = 0; i < 5; i++)
		f->half[i] = (uint16_t)(step * 5 + i);
	f->tensor[0] = (struct ckpt_tensor){ "momentum/conv.weight", DTYPE_F32,
	               shape_of(1, (int64_t[]){ 7 }), f->mean, false };
	f->tensor[1] = (struct ckpt_tensor){ "conv.weight", DTYPE_F32,
	               shape_of(3, (int64_t[]){ 2, 3, 3 }), f->weight, true };
	f->tensor[2] = (struct ckpt_tensor){ "conv.bias", DTYPE_F64,
	               shape_of(1, (int64_t[]){ 3 }), f->bias, true };
	f->tensor[3] = (struct ckpt_tensor){ "no \"data\" \xc3\xa9", DTYPE_F32,
	               shape_of(2, none), NULL, true };
	f->tensor[4] = (struct ckpt_tensor){ "half", DTYPE_F16,
	               shape_of(1, (int64_t[]){ 5 }), f->half, false };
	snprintf(f->text[0], sizeof f->text[0], "%a", (double)step / 3);
	snprintf(f->text[1], sizeof f->text[1], "line\n\"%lld\"\\", (long long)step);
	f->scalar[0] = (struct ckpt_scalar){ "loss_scale", f->text[0] };
	f->scalar[1] = (struct ckpt_scalar){ "text", f->text[1] };
	f->scalar[2] = (struct ckpt_scalar){ "empty", "" };
	f->state = (struct ckpt_state){
		.step = step, .epoch = step / 10, .metric = -fabs((double)step - 5), .metric_name = "score",
		.ntensors = FIXTURE_TENSORS, .tensor = f->tensor,
		.nscalars = FIXTURE_SCALARS, .scalar = f->scalar,
	};
}

static bool tensor_equal(const struct ckpt_version *v, const struct ckpt_tensor *want)
{
	const struct ckpt_tensor *t = ckpt_version_find(v, want->name);
	size_t bytes = (size_t)shape_count(&want->shape) * dtype_size(want->dtype);
	return t && t->dtype == want->dtype && t->weight == want->weight &&
	       shape_equal(&t->shape, &want->shape) &&
	       (bytes == 0 || memcmp(t->data, want->data, bytes) == 0);
}

bool fixture_equal(const struct ckpt_version *v)
{
	const struct ckpt_state *s = ckpt_version_state(v);
	struct fixture want;
	bool same;
	fixture_make(&want, s->step);
	same = s->epoch == want.state.epoch && s->metric == want.state.metric && s->metric_name &&
	       strcmp(s->metric_name, "score") == 0 && s->ntensors == FIXTURE_TENSORS &&
	       s->nscalars == FIXTURE_SCALARS;
	for (int i = 0; i < FIXTURE_TENSORS && same; i++)
		same = tensor_equal(v, &want.tensor[i]);
	for (int i = 0; i < FIXTURE_SCALARS && same; i++) {
		const char *value = ckpt_version_scalar(v, want.scalar[i].name);
		same = value && strcmp(value, want.scalar[i].value) == 0;
	}
	return same;
}

char *fixture_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = io_join(tmp ? tmp : "/tmp", "dlx-ckpt-XXXXXX");
	if (!mkdtemp(dir))
		BUG("no temporary folder");
	return dir;
}

void fixture_remove(char *dir)
{
	io_remove_tree(dir);
	mem_free(dir);
}

int fixture_setup(void **dir)
{
	*dir = fixture_dir();
	return 0;
}

int fixture_teardown(void **dir)
{
	fixture_remove(*dir);
	err_clear();
	return 0;
}

char *fixture_path(const char *dir, const char *id, const char *file)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, dir);
	if (id)
		buf_printf(&b, "/%s", id);
	if (file)
		buf_printf(&b, "/%s", file);
	return buf_detach(&b);
}

int fixture_save(const char *dir, int64_t first, int64_t last, int64_t keep)
{
	struct ckpt_config config = { .keep = { keep, 1, 0 }, .compression = 1 };
	struct ckpt_store *s;
	int rc = ckpt_open(&s, dir, &config, NULL);
	for (int64_t step = first; step <= last && rc == 0; step++) {
		struct fixture f;
		fixture_make(&f, step);
		rc = ckpt_save(s, &f.state);
		for (int i = 0; i < FIXTURE_SCALARS; i++)   /* copied; the tensors are borrowed */
			f.scalar[i] = (struct ckpt_scalar){ NULL, NULL };
		memset(f.text, 0xee, sizeof f.text);
		if (rc == 0)
			rc = ckpt_wait(s);
	}
	ckpt_close(s);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int fixture_ids(const char *dir, char (*id)[64], int max)
{
	char *folder = fixture_path(dir, "versions", NULL);
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			if (n < max)
				snprintf(id[n], sizeof id[n], "%.*s", (int)strcspn(e->d_name, "."), e->d_name);
			n++;
		}
	if (d)
		closedir(d);
	mem_free(folder);
	qsort(id, (size_t)(n < max ? n : max), sizeof *id, by_name);
	return n;
}

/* Names in a folder that count, "." and ".." left out. */
static int count_names(const char *dir, const char *folder, bool hidden)
{
	char *path = fixture_path(dir, folder, NULL);
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;
	while (d && (e = readdir(d)))
		n += (e->d_name[0] == '.') == hidden && strcmp(e->d_name, ".") != 0 &&
		     strcmp(e->d_name, "..") != 0;
	if (d)
		closedir(d);
	mem_free(path);
	return n;
}

int fixture_packs(const char *dir)
{
	return count_names(dir, "packs", false);
}

int fixture_leftovers(const char *dir)
{
	return count_names(dir, NULL, true) + count_names(dir, "versions", true) +
	       count_names(dir, "packs", true) + count_names(dir, "hold", true) +
	       count_names(dir, "hold", false);
}

char *fixture_manifest(const char *dir, const char *id)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "%s/versions/%s.json", dir, id);
	return buf_detach(&b);
}

char *fixture_pack(const char *dir, int64_t step)
{
	char *folder = fixture_path(dir, "packs", NULL), start[32], *path = NULL;
	DIR *d = opendir(folder);
	struct dirent *e;
	snprintf(start, sizeof start, "%012lld-", (long long)step);
	while (d && !path && (e = readdir(d)))
		if (strncmp(e->d_name, start, strlen(start)) == 0)
			path = fixture_path(folder, e->d_name, NULL);
	if (d)
		closedir(d);
	mem_free(folder);
	if (!path)
		BUG("no pack of step %lld in '%s'", (long long)step, dir);
	return path;
}

int fixture_spawn(const char *dir, int64_t step, const char *switches)
{
	char number[32], save[] = "save", self[] = "/proc/self/exe";
	char *argv[] = { self, save, (char *)(uintptr_t)dir, number, NULL };
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;
	snprintf(number, sizeof number, "%lld", (long long)step);
	setenv("DLX_DEBUG", switches, 1);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, self, &quiet, NULL, argv, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&quiet);
	unsetenv("DLX_DEBUG");
	return status;
}

/* Two steps, keeping one version besides the best, so that something is dropped too. */
void fixture_child(int argc, char **argv)
{
	int64_t step;
	int rc;
	if (argc != 4 || strcmp(argv[1], "save") != 0)
		return;
	step = strtoll(argv[3], NULL, 10);
	rc = debug_read();
	if (rc == 0)
		rc = fixture_save(argv[2], step, step, 1);
	exit(rc == 0 ? 0 : err_exit_status(rc));
}
