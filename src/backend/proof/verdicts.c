/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of the file, each appended by one write:
 *
 *     MACHINE KEY right
 *     MACHINE KEY PROBLEM <TAB> IMPL <TAB> FAULT <TAB> TEXT
 *
 * in hexadecimal digits: hashes of what the machine is, of the case, and of what it computes. A
 * line that is none, as a full disk leaves it, is left out: its kernel is proven again. */
#include "backend/proof/verdicts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/device.h"
#include "backend/proof/passed.h"
#include "base/cache_dir.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/isa.h"
#include "base/mem.h"

#define FORMAT 1                 /* version of the file's format and of the checks of a proof */
#define KEY_TEXT (HASH128_TEXT - 1)
#define LONGEST (16 << 20)       /* bytes, of 300,000 verdicts: the file is begun again then */

struct verdicts {
	uint64_t machine;
	char *path;                  /* NULL: there is no folder */
	struct hash128 *key;         /* ascending */
	int n, cap;
};

/* The size and the time of this program: another build has others. */
static void put_build(struct buf *out)
{
	struct stat st;
	if (stat("/proc/self/exe", &st) == 0)
		buf_printf(out, "%lld %lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		           st.st_mtim.tv_nsec);
}

static uint64_t machine_of(const struct device *dev)
{
	struct buf text = BUF_INIT;
	buf_printf(&text, "%d %s %s %s ", FORMAT, dev->description, dev->processor,
	           dev->driver ? "" : isa_name(isa_level()));
	put_build(&text);
	const uint64_t h = hash_bytes(text.data, text.len, 0);
	buf_release(&text);
	return h;
}

static int by_key(const void *a, const void *b)
{
	return hash128_order(*(const struct hash128 *)a, *(const struct hash128 *)b);
}

static void add_key(struct verdicts *v, struct hash128 key)
{
	if (v->n == v->cap) {
		v->cap = v->cap ? 2 * v->cap : 256;
		v->key = mem_realloc(v->key, sizeof *v->key * (size_t)v->cap);
	}
	v->key[v->n++] = key;
}

static void sort(struct verdicts *v)
{
	if (v->n)
		qsort(v->key, (size_t)v->n, sizeof *v->key, by_key);
}

static struct hash128 key_of(const struct proof_case *c)
{
	return hash128_bytes(c, sizeof *c);
}

/* --- the file --- */

/* What follows KEY. False: it is no such line. */
static bool read_verdict(char *text)
{
	char *part[3], *end;
	if (strcmp(text, "right") == 0)
		return true;
	const uint64_t problem = strtoull(text, &end, 16);
	for (int i = 0; i < 3; i++) {
		if (*end != '\t')
			return false;
		*end++ = '\0';
		part[i] = end;
		end += strcspn(end, "\t");
	}
	if (proof_fault_find(part[1]) == PROOF_FAULTS || *end)
		return false;
	passed_add(&(struct passed){ problem, part[0], part[1], part[2] });
	return true;
}

static void read_line(struct verdicts *v, char *line)
{
	struct hash128 key;
	char *end;
	if (strtoull(line, &end, 16) != v->machine || *end != ' ' ||
	    strlen(end + 1) <= KEY_TEXT || !hash128_parse(end + 1, &key) || end[1 + KEY_TEXT] != ' ')
		return;
	if (read_verdict(end + KEY_TEXT + 2))
		add_key(v, key);
}

/* Reads all valid lines; a damaged file is no error. */
static void read_all(struct verdicts *v)
{
	struct buf text = BUF_INIT;
	const int mark = err_count();
	char *end;
	if (io_exists(v->path) && io_read_text(v->path, &text) == 0)
		for (char *line = text.data; line && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			read_line(v, line);
		}
	err_truncate(mark);
	buf_release(&text);
	sort(v);
}

static bool is_fresh(void)
{
	return debug.proof && strcmp(debug.proof, "fresh") == 0;
}

void verdicts_refresh(struct verdicts *v)
{
	if (v->path && !is_fresh())
		read_all(v);
}

struct verdicts *verdicts_open(const struct device *dev)
{
	struct verdicts *v = mem_calloc(1, sizeof *v);
	struct buf folder = BUF_INIT;
	const int mark = err_count();
	v->machine = machine_of(dev);
	if (cache_dir(&folder) == 0)
		v->path = io_join(folder.data, "proofs");
	err_truncate(mark);
	buf_release(&folder);
	verdicts_refresh(v);
	return v;
}

void verdicts_free(struct verdicts *v)
{
	if (!v)
		return;
	mem_free(v->path);
	mem_free(v->key);
	mem_free(v);
}

bool verdicts_has(const struct verdicts *v, const struct proof_case *c)
{
	const struct hash128 key = key_of(c);
	return v->n && bsearch(&key, v->key, (size_t)v->n, sizeof key, by_key);
}

static void put_line(struct buf *out, const struct verdicts *v, const struct proof_case *c,
                     const struct proof_verdict *verdict)
{
	char key[HASH128_TEXT];
	struct buf text = BUF_INIT;
	buf_printf(out, "%016" PRIx64 " %s ", v->machine, hash128_text(key_of(c), key));
	proof_case_text(c, &text);
	if (verdict->fault == PROOF_NONE)
		buf_puts(out, "right\n");
	else
		buf_printf(out, "%016" PRIx64 "\t%s\t%s\t%s\n", c->problem, c->impl,
		           proof_fault_text(verdict->fault), text.data);
	buf_release(&text);
}

static void pass_over(const struct proof_case *c, enum proof_fault fault)
{
	struct buf text = BUF_INIT;
	proof_case_text(c, &text);
	passed_add(&(struct passed){ c->problem, c->impl, proof_fault_text(fault), text.data });
	buf_release(&text);
}

static bool is_too_long(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size > LONGEST;
}

/* Ignores errors: a verdict that cannot be stored is found again next time. */
static void append(const struct verdicts *v, const struct buf *text)
{
	const int mark = err_count(),
	          fd = v->path && text->len ? io_open_log(v->path, is_too_long(v->path)) : -1;
	if (fd >= 0 && write(fd, text->data, text->len) >= 0)
		close(fd);
	err_truncate(mark);
}

void verdicts_add(struct verdicts *v, const struct proof_case *c, int n,
                  const struct proof_verdict *verdict)
{
	struct buf text = BUF_INIT;
	for (int i = 0; i < n; i++) {
		const enum proof_fault fault = verdict[i].fault;
		if (fault != PROOF_UNKNOWN && fault != PROOF_REFUSED)
			put_line(&text, v, &c[i], &verdict[i]);
		if (fault != PROOF_UNKNOWN && fault != PROOF_NONE)
			pass_over(&c[i], fault);
		add_key(v, key_of(&c[i]));
	}
	sort(v);
	append(v, &text);
	buf_release(&text);
}
