/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target for the files of a checkpoint store other than manifests (fuzz_ckpt): each input is a
 * pack, a tag and a run's link. A pack whose index has a wrong hash is refused before it is read,
 * so every input is also tried with its hashes set right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "ckpt/pack_format.h"
#include "ckpt/packs.h"
#include "ckpt/refs.h"
#include "ckpt/run_link.h"
#include "ckpt/sealed.h"
#include "data/record_format.h"
#include "test/crash/sim_disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

static struct disk *disk_with(struct sim *s, const char *folder, const char *name,
                              const uint8_t *data, size_t size)
{
	struct disk *d = sim_process(s);
	struct buf path = BUF_INIT;
	buf_printf(&path, "/%s/%s", folder, name);
	if (d->mkdir(d, folder) != 0 || disk_write_file(d, path.data, data, size) < 0)
		abort();
	buf_release(&path);
	return d;
}

/* Every chunk that the index promises is read, and nothing but its bytes comes out. */
static void read_chunks(struct disk *d)
{
	struct packs *p;
	if (packs_open(&p, d, "/") < 0)
		return;
	for (int i = 0; i < packs_count(p); i++)
		for (int k = 0; k < packs_at(p, i).chunks; k++) {
			const struct pack_chunk c = packs_chunk(p, i, k);
			unsigned char *raw = mem_alloc(c.raw);
			if (packs_read(p, c.address, raw, c.raw) == 0) {
				for (size_t n = 0; n < c.raw; n++)
					sink ^= raw[n];
				if (!hash128_equal(hash128_bytes(raw, c.raw), c.address))
					abort();
			}
			mem_free(raw);
		}
	packs_close(p);
}

/* A pack that is refused for its index is named in a warning by packs_open, and is not
 * read then. */
static void try_pack(const uint8_t *data, size_t size)
{
	struct sim *s = sim_new();
	struct disk *d = disk_with(s, "packs", "x" PACK_SUFFIX, data, size);
	struct pack_entry *e;
	uint64_t bytes;
	int n;
	if (pack_index_read(d, "/packs/x" PACK_SUFFIX, &e, &n, &bytes) == 0) {
		mem_free(e);
		read_chunks(d);
	}
	sim_free(s);
}

/* The end of a pack: u64 where the index is, u64 number of chunks, u64 hash, 8 bytes of magic. */
static void try_sealed_pack(const uint8_t *data, size_t size)
{
	const size_t hash_at = size - 16;
	if (size < PACK_END_BYTES)
		return;
	const uint64_t at = get_u64(data + size - PACK_END_BYTES);
	if (at > hash_at)
		return;
	uint8_t *copy = mem_alloc(size);
	memcpy(copy, data, size);
	memcpy(copy, pack_magic, PACK_MAGIC_BYTES);
	put_u64(copy + hash_at, hash_bytes(copy + at, hash_at - (size_t)at, 0));
	memcpy(copy + size - 8, "dlxpackE", 8);
	try_pack(copy, size);
	mem_free(copy);
}

static void try_tag(const uint8_t *data, size_t size)
{
	struct sim *s = sim_new();
	struct disk *d = disk_with(s, "tags", "gold", data, size);
	struct refs r;
	if (refs_read(&r, d, "/") == 0) {
		if (r.n != 1 || !refs_find(&r, "gold"))
			abort();
		refs_release(&r);
	}
	sim_free(s);
}

static void try_link(const uint8_t *data, size_t size)
{
	struct sim *s = sim_new();
	struct disk *d = disk_with(s, "run", RUN_LINK_FILE, data, size);
	struct arena *a = arena_new();
	struct run_link link;
	if (run_link_read(&link, a, d, "/run") == 0)
		sink ^= (unsigned char)(strlen(link.run) + strlen(link.store));
	arena_free(a);
	sim_free(s);
}

static void try_sealed_link(const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT;
	sealed_end(&b, 0);
	const size_t tail = b.len;
	buf_clear(&b);
	if (size >= tail) {
		buf_add(&b, data, size - tail);
		sealed_end(&b, 0);
		try_link((const uint8_t *)b.data, b.len);
	}
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_pack(data, size);
	try_sealed_pack(data, size);
	try_tag(data, size);
	try_link(data, size);
	try_sealed_link(data, size);
	err_clear();
	return 0;
}
