/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of a disk in memory; see sim_disk.h. sim_crash.c has what a crash leaves of them. */
#include "sim_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct sim_fd {
	int file;                      /* -1: closed */
	bool write, append, locked;
};

struct sim_process {
	struct disk d;
	struct sim *s;
	struct sim_process *next;
	int number;
	struct sim_fd *fd;
	int nfds;
	int calls, dead_after;         /* -1: lives */
	struct sim_fault fault;
	int met, failed;               /* calls in fault.kinds so far; failed by it */
};

/* --- the record --- */

static struct sim_process *of(struct disk *d)
{
	return (struct sim_process *)(void *)d;
}

static void record(struct sim_process *p, enum sim_kind kind, const char *path, size_t n, int error)
{
	struct sim *s = p->s;
	const size_t len = strlen(path);
	struct sim_call *c;
	if (s->ncalls == s->calls_cap) {
		s->calls_cap = s->calls_cap ? 2 * s->calls_cap : 256;
		s->call = mem_realloc(s->call, (size_t)s->calls_cap * sizeof *s->call);
	}
	c = &s->call[s->ncalls++];
	*c = (struct sim_call){ .kind = kind, .process = p->number, .error = error, .n = n };
	snprintf(c->path, SIM_NAME, "%s", len < SIM_NAME ? path : path + len - SIM_NAME + 1);
}

/* Begins a call: takes the mutex and says whether the call fails. *brief: it transfers less than it
 * is requested. The call is recorded already, without an error. */
static int enter(struct sim_process *p, enum sim_kind kind, const char *path, size_t n, bool *brief)
{
	const struct sim_fault *f = &p->fault;
	int error = 0;
	bool hit = false;
	if (p->number < 4 && p->s->pause[p->number])
		usleep((unsigned)rand() % p->s->pause[p->number]);
	pthread_mutex_lock(p->s->mutex);
	if (f->kinds >> kind & 1) {
		p->met++;
		hit = p->met > f->after && p->met - f->after <= f->times;
	}
	if (p->dead_after >= 0 && p->calls >= p->dead_after)
		error = EIO;
	else if (hit && f->error)
		error = f->error;
	if (hit)
		p->failed++;
	*brief = hit && !f->error;
	p->calls++;
	record(p, kind, path, n, error);
	return error;
}

static int leave(struct sim_process *p, int error)
{
	struct sim *s = p->s;
	s->call[s->ncalls - 1].error = error;
	pthread_mutex_unlock(s->mutex);
	return error;
}

static struct sim_change *add_change(struct sim *s, enum sim_change_kind kind, int file)
{
	struct sim_change *c;
	if (s->nchanges == s->changes_cap) {
		s->changes_cap = s->changes_cap ? 2 * s->changes_cap : 128;
		s->change = mem_realloc(s->change, (size_t)s->changes_cap * sizeof *s->change);
	}
	c = &s->change[s->nchanges++];
	memset(c, 0, sizeof *c);
	c->kind = kind;
	c->file = file;
	c->folder = file < s->now.n && s->now.file[file].folder;
	c->time = s->time;
	c->call = s->ncalls - 1;
	c->durable = INT32_MAX;
	return c;
}

static void change_entry(struct sim *s, enum sim_change_kind kind, int file, int dir,
                         const char *name)
{
	struct sim_change *c = add_change(s, kind, file);
	c->dir = dir;
	snprintf(c->name, SIM_NAME, "%s", name);
	sim_image_apply(&s->now, c, NULL);
}

static void change_data(struct sim *s, int file, uint64_t at, const void *p, size_t n)
{
	struct sim_change *c = add_change(s, SIM_WRITE, file);
	c->at = at;
	c->n = n;
	c->data = mem_alloc(n);
	memcpy(c->data, p, n);
	sim_image_apply(&s->now, c, NULL);
}

/* --- descriptors --- */

static struct sim_fd *get_fd(struct sim_process *p, int fd)
{
	return fd >= 0 && fd < p->nfds && p->fd[fd].file >= 0 ? &p->fd[fd] : NULL;
}

static int new_fd(struct sim_process *p, int file, int flags)
{
	int fd = 0;
	while (fd < p->nfds && p->fd[fd].file >= 0)
		fd++;
	if (fd == p->nfds)
		p->fd = mem_realloc(p->fd, (size_t)++p->nfds * sizeof *p->fd);
	p->fd[fd] = (struct sim_fd){ .file = file, .write = (flags & O_ACCMODE) != O_RDONLY,
		.append = (flags & O_APPEND) != 0 };
	return fd;
}

static void fd_name(char out[32], const struct sim_process *p, int fd)
{
	snprintf(out, 32, "file %d", fd >= 0 && fd < p->nfds ? p->fd[fd].file : -1);
}

/* --- the calls --- */

static int make_file(struct sim *s, const char *path, bool folder, int *out)
{
	char name[SIM_NAME];
	int dir, file, error = sim_image_find(&s->now, path, &dir, name, &file);
	if (error)
		return error;
	if (file >= 0)
		return EEXIST;
	*out = s->now.n;
	struct sim_change *c = add_change(s, SIM_MAKE, *out);
	c->folder = folder;
	c->dir = dir;
	snprintf(c->name, SIM_NAME, "%s", name);
	sim_image_apply(&s->now, c, NULL);
	return 0;
}

static int open_file(struct sim *s, const char *path, int flags, int *file)
{
	char name[SIM_NAME];
	int dir, error = sim_image_find(&s->now, path, &dir, name, file);
	const bool write = (flags & O_ACCMODE) != O_RDONLY;
	if (error)
		return error;
	if (*file < 0)
		return flags & O_CREAT ? make_file(s, path, false, file) : ENOENT;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return EEXIST;
	if (s->now.file[*file].folder)
		return write ? EISDIR : 0;
	if (flags & O_DIRECTORY)
		return ENOTDIR;
	if ((flags & O_TRUNC) && write && s->now.file[*file].size) {
		struct sim_change *c = add_change(s, SIM_CUT, *file);
		sim_image_apply(&s->now, c, NULL);
	}
	return 0;
}

static int sim_open(struct disk *d, int *fd, const char *path, int flags)
{
	struct sim_process *p = of(d);
	bool brief, makes = flags & (O_CREAT | O_TRUNC);
	int file, error = enter(p, makes ? SIM_CALL_MAKE : SIM_CALL_OPEN, path, 0, &brief);
	if (!error)
		error = open_file(p->s, path, flags, &file);
	if (!error)
		*fd = new_fd(p, file, flags);
	return leave(p, error);
}

static int sim_close(struct disk *d, int fd)
{
	struct sim_process *p = of(d);
	char name[32];
	bool brief;
	fd_name(name, p, fd);
	enter(p, SIM_CALL_CLOSE, name, 0, &brief);
	struct sim_fd *f = get_fd(p, fd);
	if (f)
		f->file = -1;
	return leave(p, f ? 0 : EBADF);
}

static int sim_pread(struct disk *d, int fd, void *to, size_t n, uint64_t at, size_t *done)
{
	struct sim_process *p = of(d);
	char name[32];
	bool brief;
	fd_name(name, p, fd);
	int error = enter(p, SIM_CALL_PREAD, name, n, &brief);
	const struct sim_fd *f = get_fd(p, fd);
	*done = 0;
	if (!error && !f)
		error = EBADF;
	if (!error && p->s->now.file[f->file].folder)
		error = EISDIR;
	if (!error) {
		const struct sim_file *file = &p->s->now.file[f->file];
		size_t there = at < file->size ? file->size - (size_t)at : 0;
		*done = n < there ? n : there;
		if (brief && *done > 1)
			*done /= 2;
		if (*done)
			memcpy(to, file->data + at, *done);
	}
	return leave(p, error);
}

static int put(struct sim_process *p, enum sim_kind kind, int fd, const void *from, size_t n,
               uint64_t at, size_t *done)
{
	char name[32];
	bool brief;
	fd_name(name, p, fd);
	int error = enter(p, kind, name, n, &brief);
	const struct sim_fd *f = get_fd(p, fd);
	*done = 0;
	if (!error && (!f || !f->write || f->append != (kind == SIM_CALL_APPEND)))
		error = EBADF;
	if (!error) {
		*done = brief && n > 1 ? n / 2 : n;
		if (f->append)
			at = p->s->now.file[f->file].size;
		if (*done)
			change_data(p->s, f->file, at, from, *done);
	}
	return leave(p, error);
}

static int sim_pwrite(struct disk *d, int fd, const void *from, size_t n, uint64_t at, size_t *done)
{
	return put(of(d), SIM_CALL_PWRITE, fd, from, n, at, done);
}

static int sim_append(struct disk *d, int fd, const void *from, size_t n, size_t *done)
{
	return put(of(d), SIM_CALL_APPEND, fd, from, n, 0, done);
}

static bool concerns(const struct sim_change *c, int file)
{
	switch (c->kind) {
	case SIM_WRITE:
	case SIM_CUT:
		return c->file == file;
	default:
		return c->dir == file;
	}
}

static bool is_pack(const struct sim *s, int file)
{
	for (int i = 0; i < s->nchanges; i++)
		if (s->change[i].file == file && strstr(s->change[i].name, ".pack"))
			return true;
	return false;
}

static bool lies_about(const struct sim *s, int file)
{
	if (s->now.file[file].folder)
		return s->lies & SIM_LIE_FOLDERS;
	return (s->lies & SIM_LIE_FILES) || ((s->lies & SIM_LIE_PACKS) && is_pack(s, file));
}

/* The content of a file as it is on the disk. */
static void drop_volatile(struct sim *s, int file)
{
	struct sim_image m;
	sim_image_copy(&m, &s->base);
	for (int i = 0; i < s->nchanges; i++)
		if (concerns(&s->change[i], file) && s->change[i].durable != INT32_MAX)
			sim_image_apply(&m, &s->change[i], NULL);
	mem_free(s->now.file[file].data);
	s->now.file[file].data = NULL;
	s->now.file[file].size = s->now.file[file].cap = 0;
	if (file < m.n) {
		struct sim_file *from = &m.file[file], *to = &s->now.file[file];
		to->data = from->data;
		to->size = from->size;
		to->cap = from->cap;
		from->data = NULL;
	}
	sim_image_release(&m);
}

static int sim_sync(struct disk *d, int fd)
{
	struct sim_process *p = of(d);
	struct sim *s = p->s;
	char name[32];
	bool brief, dead;
	fd_name(name, p, fd);
	int error = enter(p, SIM_CALL_SYNC, name, 0, &brief);
	const struct sim_fd *f = get_fd(p, fd);
	dead = p->dead_after >= 0 && p->calls > p->dead_after;
	if (!f)
		return leave(p, error ? error : EBADF);
	for (int i = 0; i < s->nchanges && !dead; i++) {
		struct sim_change *c = &s->change[i];
		if (!concerns(c, f->file) || c->durable != INT32_MAX)
			continue;
		if (error && error != EINTR)
			c->lost = !s->now.file[f->file].folder;
		else if (!error && !c->lost && !lies_about(s, f->file))
			c->durable = s->ncalls - 1;
	}
	if (error && error != EINTR && !dead && p->fault.drop && !s->now.file[f->file].folder)
		drop_volatile(s, f->file);
	return leave(p, error);
}

/* Whether folder dir is file or in it. */
static bool inside(const struct sim_image *m, int file, int dir)
{
	while (dir != file && dir != SIM_ROOT)
		dir = m->file[dir].parent;
	return dir == file;
}

static int rename_entry(struct sim *s, const char *from, const char *to)
{
	char from_name[SIM_NAME], to_name[SIM_NAME];
	int from_dir, to_dir, file, old;
	int error = sim_image_find(&s->now, from, &from_dir, from_name, &file);
	if (!error)
		error = sim_image_find(&s->now, to, &to_dir, to_name, &old);
	if (!error && file < 0)
		error = ENOENT;
	if (error || file == old)
		return error;
	if (inside(&s->now, file, to_dir))
		return EINVAL;
	if (old >= 0 && inside(&s->now, old, from_dir))
		return ENOTEMPTY;
	if (old >= 0 && s->now.file[old].folder != s->now.file[file].folder)
		return s->now.file[old].folder ? EISDIR : ENOTDIR;
	if (old >= 0 && s->now.file[old].nentries)
		return ENOTEMPTY;
	struct sim_change *c = add_change(s, SIM_RENAME, file);
	c->dir = to_dir;
	c->from_dir = from_dir;
	memcpy(c->name, to_name, SIM_NAME);
	memcpy(c->from, from_name, SIM_NAME);
	sim_image_apply(&s->now, c, NULL);
	return 0;
}

static int sim_rename(struct disk *d, const char *from, const char *to)
{
	struct sim_process *p = of(d);
	bool brief;
	int error = enter(p, SIM_CALL_RENAME, to, 0, &brief);
	if (!error)
		error = rename_entry(p->s, from, to);
	return leave(p, error);
}

static int remove_entry(struct sim *s, const char *path)
{
	char name[SIM_NAME];
	int dir, file, error = sim_image_find(&s->now, path, &dir, name, &file);
	if (error)
		return error;
	if (file < 0)
		return ENOENT;
	if (s->now.file[file].folder)
		return EISDIR;
	change_entry(s, SIM_UNLINK, file, dir, name);
	return 0;
}

static int sim_unlink(struct disk *d, const char *path)
{
	struct sim_process *p = of(d);
	bool brief;
	int error = enter(p, SIM_CALL_UNLINK, path, 0, &brief);
	if (!error)
		error = remove_entry(p->s, path);
	return leave(p, error);
}

static int sim_mkdir(struct disk *d, const char *path)
{
	struct sim_process *p = of(d);
	bool brief;
	int file, error = enter(p, SIM_CALL_MKDIR, path, 0, &brief);
	if (!error)
		error = make_file(p->s, path, true, &file);
	return leave(p, error);
}

static bool locked(const struct sim *s, int file)
{
	for (const struct sim_process *p = s->process; p; p = p->next)
		for (int i = 0; i < p->nfds; i++)
			if (p->fd[i].file == file && p->fd[i].locked)
				return true;
	return false;
}

static int sim_lock(struct disk *d, int fd)
{
	struct sim_process *p = of(d);
	char name[32];
	bool brief;
	fd_name(name, p, fd);
	int error = enter(p, SIM_CALL_LOCK, name, 0, &brief);
	struct sim_fd *f = get_fd(p, fd);
	if (!error && !f)
		error = EBADF;
	if (!error)
		error = p->s->lock_error;
	if (!error && !f->locked && locked(p->s, f->file))
		error = EWOULDBLOCK;
	if (!error)
		f->locked = true;
	return leave(p, error);
}

static int sim_stat(struct disk *d, const char *path, struct disk_stat *out)
{
	struct sim_process *p = of(d);
	char name[SIM_NAME];
	int dir, file;
	bool brief;
	int error = enter(p, SIM_CALL_STAT, path, 0, &brief);
	if (!error)
		error = sim_image_find(&p->s->now, path, &dir, name, &file);
	if (!error && file < 0)
		error = ENOENT;
	if (!error) {
		const struct sim_file *f = &p->s->now.file[file];
		*out = (struct disk_stat){ f->folder, f->size, f->changed };
	}
	return leave(p, error);
}

/* Backwards, so that code that relies on an order of its own shows. */
static int sim_list_folder(struct disk *d, const char *folder, struct buf *names)
{
	struct sim_process *p = of(d);
	char name[SIM_NAME];
	int dir, file;
	bool brief;
	int error = enter(p, SIM_CALL_LIST, folder, 0, &brief);
	if (!error)
		error = sim_image_find(&p->s->now, folder, &dir, name, &file);
	if (!error && file < 0)
		error = ENOENT;
	if (!error && !p->s->now.file[file].folder)
		error = ENOTDIR;
	if (!error) {
		const struct sim_file *f = &p->s->now.file[file];
		for (int i = f->nentries - 1; i >= 0; i--)
			buf_add(names, f->entry[i].name, strlen(f->entry[i].name) + 1);
	}
	return leave(p, error);
}

static int64_t sim_clock(struct disk *d)
{
	struct sim_process *p = of(d);
	bool brief;
	enter(p, SIM_CALL_CLOCK, "", 0, &brief);
	int64_t now = p->s->time += p->s->tick;
	leave(p, 0);
	return now;
}

/* --- machines and processes --- */

struct sim *sim_new(void)
{
	struct sim *s = mem_calloc(1, sizeof *s);
	sim_image_init(&s->base);
	sim_image_copy(&s->now, &s->base);
	s->time = 1700000000;
	s->mutex = mem_alloc(sizeof(pthread_mutex_t));
	pthread_mutex_init(s->mutex, NULL);
	return s;
}

struct sim *sim_copy(const struct sim *s)
{
	struct sim *c = sim_new();
	sim_image_release(&c->base);
	sim_image_release(&c->now);
	sim_image_copy(&c->base, &s->now);
	sim_image_sweep(&c->base);
	sim_image_copy(&c->now, &c->base);
	c->time = s->time;
	c->tick = s->tick;
	c->lock_error = s->lock_error;
	c->lies = s->lies;
	return c;
}

void sim_free(struct sim *s)
{
	if (!s)
		return;
	for (struct sim_process *p = s->process, *next; p; p = next) {
		next = p->next;
		mem_free(p->fd);
		mem_free(p);
	}
	for (int i = 0; i < s->nchanges; i++)
		mem_free(s->change[i].data);
	mem_free(s->change);
	mem_free(s->call);
	sim_image_release(&s->base);
	sim_image_release(&s->now);
	pthread_mutex_destroy(s->mutex);
	mem_free(s->mutex);
	mem_free(s);
}

struct disk *sim_process(struct sim *s)
{
	struct sim_process *p = mem_calloc(1, sizeof *p);
	p->d = (struct disk){
		.open = sim_open, .close = sim_close, .pread = sim_pread, .pwrite = sim_pwrite,
		.append = sim_append, .sync = sim_sync, .rename = sim_rename,
		.unlink = sim_unlink, .mkdir = sim_mkdir, .lock = sim_lock, .stat = sim_stat,
		.list = sim_list_folder, .clock = sim_clock,
	};
	p->s = s;
	p->number = s->nprocesses++;
	p->dead_after = -1;
	pthread_mutex_lock(s->mutex);
	p->next = s->process;
	s->process = p;
	pthread_mutex_unlock(s->mutex);
	return &p->d;
}

void sim_end(struct disk *d)
{
	struct sim_process *p = of(d);
	pthread_mutex_lock(p->s->mutex);
	for (int i = 0; i < p->nfds; i++)
		p->fd[i].file = -1;
	p->dead_after = 0;
	pthread_mutex_unlock(p->s->mutex);
}

void sim_die_after(struct disk *d, int calls)
{
	of(d)->dead_after = of(d)->calls + calls;
}

void sim_set_fault(struct disk *d, const struct sim_fault *f)
{
	struct sim_process *p = of(d);
	pthread_mutex_lock(p->s->mutex);
	p->fault = f ? *f : (struct sim_fault){ 0 };
	p->met = p->failed = 0;
	pthread_mutex_unlock(p->s->mutex);
}

int sim_faults_met(const struct disk *d)
{
	const struct sim_process *p = (const struct sim_process *)(const void *)d;
	return p->failed;
}
