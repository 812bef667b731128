/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The new id of a moved folder is written to the store first. If the process is killed before
 * run.json has it too, the claim's `before` and path are still the folder's, and the next process
 * completes the change. */
#include "ckpt/run_claim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "ckpt/run_store.h"
#include "ckpt/sealed.h"
#include "ckpt/version_log.h"

#define NAME "dlx folder"
#define VERSION 1

struct run_claim {
	const char *folder, *before, *path;
};

/* The absolute path, independent of the folder in which a process was started. */
static const char *path_of(struct arena *a, struct disk *d, const char *dir)
{
	char *real = d == disk_system() ? realpath(dir, NULL) : NULL;
	const char *path = arena_strdup(a, real ? real : dir);
	free(real);
	return path;
}

static const char *file_of(struct arena *a, const struct run_link *link)
{
	return arena_printf(a, "%s/" RUNS_FOLDER "/%s.json", link->store, link->run);
}

static bool has_own_store(const struct run_link *link, const char *dir)
{
	return !link->run[0] || strcmp(link->store, dir) == 0;
}

/* out->folder is NULL if there is no claim. */
static int read_claim(struct run_claim *out, struct arena *a, struct disk *d,
                      const struct run_link *link)
{
	const char *file = file_of(a, link);
	struct buf text = BUF_INIT;
	struct hash128 hash;
	struct json *root;
	*out = (struct run_claim){ NULL };
	if (!disk_exists(d, file))
		return 0;
	int rc = disk_read_file(d, file, &text);
	if (rc == 0)
		rc = sealed_parse(&root, &hash, a, file, text.data, text.len);
	buf_release(&text);
	TRY(rc);
	TRY(sealed_format(file, root, NAME, VERSION));
	TRY(sealed_string(&out->before, file, root, "before"));
	TRY(sealed_string(&out->path, file, root, "path"));
	return sealed_string(&out->folder, file, root, "folder");
}

static int write_claim(const struct run_claim *c, struct arena *a, struct disk *d,
                       const struct run_link *link)
{
	struct buf text = BUF_INIT;
	buf_printf(&text, "{\n  \"format\": \"" NAME " %d\",\n  \"folder\": \"%s\",\n"
	           "  \"before\": \"%s\",\n  \"path\": ", VERSION, c->folder, c->before);
	buf_json_string(&text, c->path);
	sealed_end(&text, 0);
	int rc = disk_mkdirs(d, arena_printf(a, "%s/" RUNS_FOLDER, link->store));
	if (rc == 0)
		rc = disk_write_file(d, file_of(a, link), text.data, text.len);
	buf_release(&text);
	return rc;
}

int run_claim_new(const struct run_link *link, struct disk *d, const char *dir)
{
	if (has_own_store(link, dir))
		return 0;
	struct arena *a = arena_new();
	const struct run_claim c = { link->folder, "", path_of(a, d, dir) };
	int rc = write_claim(&c, a, d, link);
	arena_free(a);
	return rc;
}

/* --- copies --- */

/* Whether the folder at path is of the run, too. One whose run.json cannot be read may be. */
static bool has_run(const char *path, struct arena *a, struct disk *d, const struct run_link *link)
{
	const int mark = err_count();
	struct run_link other;
	const int rc = run_link_read(&other, a, d, path);
	err_truncate(mark);
	return rc < 0 || strcmp(other.run, link->run) == 0;
}

/* Whether both paths lead to the same folder: a file written through one must be visible through
 * the other. */
static bool is_same(struct disk *d, struct arena *a, const char *dir, const char *path)
{
	const char *name = arena_printf(a, DISK_TMP "here-%s", run_link_random(a, d, dir));
	const char *here = arena_printf(a, "%s/%s", dir, name);
	int fd;
	if (disk_open(d, &fd, here, O_RDWR | O_CREAT | O_EXCL) != 0)
		return false;
	d->close(d, fd);
	const bool same = disk_exists(d, arena_printf(a, "%s/%s", path, name));
	d->unlink(d, here);
	return same;
}

/* The newest version of the run that was saved from this folder, according to its log. */
static const char *own_version(struct disk *d, const char *dir, const struct version_list *l)
{
	for (int i = l->n - 1; i >= l->first; i--)
		if (version_log_saved(d, dir, l->v[i].id))
			return l->v[i].id;
	return "last";
}

static int refuse(const struct run_link *link, struct arena *a, struct disk *d, const char *dir,
                  const struct version_list *l, const char *where)
{
	const char *run = run_folder_of(a, dir);
	if (!l)
		return ERR(E_USAGE, NULL, "'%s' is a copy of the run %s, and both would save as one run in "
		           "'%s' on this host's disk; '--set checkpoint.local.dir=DIR' with another folder "
		           "keeps them apart, null does without", run, where, link->store);
	return ERR(E_USAGE, NULL, "'%s' is a copy of the run %s, and both would save as one run in the "
	           "store '%s'; 'dlx-ckpt %s fork %s NEW-FOLDER' makes a run of its own of it, which "
	           "'dlx-train --resume NEW-FOLDER' goes on with", run, where, link->store, run,
	           own_version(d, dir, l));
}

/* c: of a folder that was at another path. l: NULL of a host's disk, where nothing says which
 * folder saved which. */
static int check_moved(const struct run_claim *c, const struct run_link *link, struct arena *a,
                       struct disk *d, const char *dir, const struct version_list *l)
{
	const char *was = run_folder_of(a, c->path);
	const struct version *last = l && l->n > l->first ? &l->v[l->n - 1] : NULL;
	if (has_run(c->path, a, d, link) && !is_same(d, a, dir, c->path))
		return refuse(link, a, d, dir, l, arena_printf(a, "in '%s'", was));
	if (last && !version_log_saved(d, dir, last->id))
		return refuse(link, a, d, dir, l, arena_printf(a, "that was in '%s' and saved checkpoint "
		                                               "'%s' since", was, last->id));
	return 0;
}

/* The first claim of a run, or that of a folder which was moved. */
static int claim_anew(const struct run_claim *c, struct run_link *link, const struct run_link *at,
                      struct arena *a, struct disk *d, const char *dir, const char *path)
{
	const char *folder = run_link_random(a, d, dir);
	if (!c->folder && link->folder[0])
		return write_claim(&(struct run_claim){ link->folder, "", path }, a, d, at);
	if (c->folder)
		note("the run of '%s' is in '%s' now", run_folder_of(a, c->path), run_folder_of(a, path));
	TRY(write_claim(&(struct run_claim){ folder, link->folder, path }, a, d, at));
	return run_link_rename(link, d, dir, folder);
}

/* at: the link with the store that the claim is in. */
static int claim(struct run_link *link, const struct run_link *at, struct arena *a, struct disk *d,
                 const char *dir, const struct version_list *l)
{
	const char *path = path_of(a, d, dir);
	struct run_claim c;
	TRY(read_claim(&c, a, d, at));
	const bool here = c.folder && strcmp(c.path, path) == 0;
	if (here && strcmp(c.folder, link->folder) == 0)
		return 0;
	if (here && strcmp(c.before, link->folder) == 0)
		return run_link_rename(link, d, dir, c.folder);
	if (c.folder && strcmp(c.folder, link->folder) != 0)
		return refuse(at, a, d, dir, l, arena_printf(a, "in '%s'", run_folder_of(a, c.path)));
	if (c.folder)
		TRY(check_moved(&c, at, a, d, dir, l));
	return claim_anew(&c, link, at, a, d, dir, path);
}

int run_claim(struct run_link *link, struct arena *a, struct disk *d, const char *dir,
              const struct version_list *l)
{
	return has_own_store(link, dir) ? 0 : claim(link, link, a, d, dir, l);
}

int run_claim_local(const char *dir, const char *local)
{
	struct arena *a = arena_new();
	struct disk *d = disk_system();
	struct run_link link, at;
	int rc = run_link_read(&link, a, d, dir);
	at = link;
	at.store = local;
	if (rc == 0 && link.run[0] && strcmp(link.store, dir) == 0)
		rc = claim(&link, &at, a, d, dir, NULL);
	arena_free(a);
	return rc;
}

/* --- reading --- */

static bool is_inode(const char *x, const char *y)
{
	struct stat a, b;
	return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* c: of a folder at another path. */
static bool seems_copied(const struct run_claim *c, const struct run_link *link, struct arena *a,
                         struct disk *d, const char *dir, const char *last)
{
	if (is_inode(dir, c->path))
		return false;
	return strcmp(c->folder, link->folder) != 0 || has_run(c->path, a, d, link) ||
	       (last && !version_log_saved(d, dir, last));
}

void run_claim_look(const struct run_link *link, struct disk *d, const char *dir, const char *last)
{
	const int mark = err_count();
	struct arena *a = arena_new();
	struct run_claim c = { NULL };
	if (!has_own_store(link, dir) && read_claim(&c, a, d, link) == 0 && c.folder &&
	    strcmp(c.path, path_of(a, d, dir)) != 0 && seems_copied(&c, link, a, d, dir, last))
		note("'%s' seems to be a copy of the run in '%s': the checkpoints are that run's",
		     run_folder_of(a, dir), run_folder_of(a, c.path));
	err_truncate(mark);
	arena_free(a);
}
