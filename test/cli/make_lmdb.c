/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_lmdb PATH: writes the entries that the standard input has into the LMDB database at PATH, a
 * folder that is there, or a file if PATH ends in ".lmdb". An entry is the lengths of its key and
 * its value, 4 bytes each with the least significant first, then both. Built without LMDB it says
 * so and ends with 77. */
#include "config.h"

#include <stdio.h>
#ifdef HAVE_LMDB
#include <lmdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "make_lmdb: %s: %s\n", what, mdb_strerror(rc));
	exit(1);
}

static size_t number(const unsigned char *p)
{
	return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static void read_bytes(void *p, size_t n)
{
	if (fread(p, 1, n, stdin) != n)
		must(MDB_BAD_VALSIZE, "the input is cut off");
}

static void put_all(MDB_txn *txn, MDB_dbi db)
{
	unsigned char lengths[8];
	while (fread(lengths, 1, 8, stdin) == 8) {
		const size_t key = number(lengths), value = number(lengths + 4);
		char *p = malloc(key + value + 1);
		MDB_val k = { key, p }, v = { value, p + key };

		read_bytes(p, key + value);
		must(mdb_put(txn, db, &k, &v, 0), "put");
		free(p);
	}
}

int main(int argc, char **argv)
{
	const size_t n = argc == 2 ? strlen(argv[1]) : 0;
	const int file = n > 5 && strcmp(argv[1] + n - 5, ".lmdb") == 0;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi db;

	must(n == 0, "usage: make_lmdb PATH");
	must(mdb_env_create(&env), "create");
	must(mdb_env_set_mapsize(env, (size_t)1 << 31), "size");
	must(mdb_env_open(env, argv[1], file ? MDB_NOSUBDIR : 0, 0600), "open");
	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	must(mdb_dbi_open(txn, NULL, 0, &db), "database");
	put_all(txn, db);
	must(mdb_txn_commit(txn), "commit");
	mdb_env_close(env);
	return 0;
}
#else
int main(void)
{
	puts("no LMDB");
	return 77;
}
#endif
