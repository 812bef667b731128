/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/run_link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/sealed.h"

#define NAME "dlx run"
#define VERSION 1
#define HERE "."

static const char *path_in(struct arena *a, const char *dir)
{
	return arena_printf(a, "%s/" RUN_LINK_FILE, dir);
}

static int parse(struct run_link *out, struct arena *a, const char *dir, const char *path,
                 const struct buf *text)
{
	struct hash128 hash, id;
	struct json *root;
	TRY(sealed_parse(&root, &hash, a, path, text->data, text->len));
	TRY(sealed_format(path, root, NAME, VERSION));
	TRY(sealed_string(&out->run, path, root, "run"));
	TRY(sealed_string(&out->store, path, root, "store"));
	if (json_find(root, "folder"))
		TRY(sealed_string(&out->folder, path, root, "folder"));
	if (strlen(out->run) != HASH128_TEXT - 1 || !hash128_parse(out->run, &id))
		return ERR(E_DATA, NULL, "'%s': 'run' is not 32 hexadecimal digits", path);
	if (strcmp(out->store, HERE) == 0)
		out->store = arena_strdup(a, dir);
	return 0;
}

int run_link_read(struct run_link *out, struct arena *a, struct disk *d, const char *dir)
{
	const char *path = path_in(a, dir);
	struct buf text = BUF_INIT;
	*out = (struct run_link){ "", arena_strdup(a, dir), "" };
	if (!disk_exists(d, path))
		return 0;
	int rc = disk_read_file(d, path, &text);
	if (rc == 0)
		rc = parse(out, a, dir, path, &text);
	buf_release(&text);
	return rc;
}

/* Two runs must not share it; it need not be hard to guess. */
const char *run_link_random(struct arena *a, struct disk *d, const char *dir)
{
	char text[HASH128_TEXT];
	struct {
		uint64_t random[2];
		int64_t time, pid;
		struct hash128 dir;
	} seed = { .time = d->clock(d), .pid = getpid(), .dir = hash128_bytes(dir, strlen(dir)) };
	if (getrandom(seed.random, sizeof seed.random, GRND_NONBLOCK) < 0)
		seed.random[0] = (uint64_t)(io_seconds() * 1e9);
	return arena_strdup(a, hash128_text(hash128_bytes(&seed, sizeof seed), text));
}

static int write_link(const struct run_link *link, struct disk *d, const char *dir)
{
	struct buf text = BUF_INIT;
	char *path = io_join(dir, RUN_LINK_FILE);
	buf_printf(&text, "{\n  \"format\": \"" NAME " %d\",\n  \"run\": \"%s\",\n"
	           "  \"folder\": \"%s\",\n  \"store\": ", VERSION, link->run, link->folder);
	buf_json_string(&text, strcmp(link->store, dir) == 0 ? HERE : link->store);
	sealed_end(&text, 0);
	int rc = disk_mkdirs(d, dir);
	if (rc == 0)
		rc = disk_write_file(d, path, text.data, text.len);
	buf_release(&text);
	mem_free(path);
	return rc;
}

static int make_link(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                     const char *store, const char *run)
{
	*out = (struct run_link){ arena_strdup(a, run), arena_strdup(a, store ? store : dir),
		run_link_random(a, d, dir) };
	return write_link(out, d, dir);
}

int run_link_new(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store)
{
	return make_link(out, a, d, dir, store, run_link_random(a, d, dir));
}

int run_link_rename(struct run_link *link, struct disk *d, const char *dir, const char *folder)
{
	link->folder = folder;
	return write_link(link, d, dir);
}

int run_link_get(struct run_link *out, struct arena *a, struct disk *d, const char *dir,
                 const char *store, const char *run)
{
	if (!disk_exists(d, path_in(a, dir)))
		return make_link(out, a, d, dir, store, run ? run : run_link_random(a, d, dir));
	TRY(run_link_read(out, a, d, dir));
	if (run && strcmp(out->run, run) != 0)
		return ERR(E_CONFIG, NULL, "'%s' has the checkpoints of another run", dir);
	if (store && strcmp(out->store, store) != 0)
		return ERR(E_CONFIG, NULL, "the checkpoints of '%s' are in '%s'; 'checkpoint.store' cannot "
		           "become '%s' now", dir, out->store, store);
	return 0;
}
