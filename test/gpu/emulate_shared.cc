/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel's shared memory is a static variable of its function, and a compiler puts such variables
 * of templates where it likes. The program's own table of symbols says where: it names them
 * _ZZ<function>E<variable>. */
#include "emulate_shared.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <elf.h>
#include <link.h>

namespace emulate {
namespace {

struct variable {
	char *at;
	size_t bytes;
	std::string function;        /* its name, mangled with what follows it */
};

/* The address at which the program is loaded, which is reported before those of libraries. */
int find_base(struct dl_phdr_info *i, size_t, void *base)
{
	*(ElfW(Addr) *)base = i->dlpi_addr;
	return 1;
}

std::string own_image()
{
	std::string image;
	char piece[1 << 16];
	FILE *f = fopen("/proc/self/exe", "rb");
	for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;)
		image.append(piece, n);
	if (f)
		fclose(f);
	return image;
}

/* The emulation has variables of its own, and so has the standard library: in their namespaces. */
bool is_shared(const ElfW(Sym) &s, const char *name)
{
	return ELF64_ST_TYPE(s.st_info) == STT_OBJECT && strncmp(name, "_ZZ", 3) == 0 &&
	       !strstr(name, "7emulate") && strncmp(name, "_ZZNSt", 6) != 0 &&
	       strncmp(name, "_ZZNKSt", 7) != 0;
}

std::vector<variable> find_shared()
{
	const std::string image = own_image();
	std::vector<variable> all;
	ElfW(Addr) base = 0;
	dl_iterate_phdr(find_base, &base);
	const auto head = (const ElfW(Ehdr) *)image.data();
	const auto section = (const ElfW(Shdr) *)(image.data() + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		const auto symbol = (const ElfW(Sym) *)(image.data() + section[i].sh_offset);
		const char *names = image.data() + section[section[i].sh_link].sh_offset;
		for (size_t s = 0; s < section[i].sh_size / sizeof *symbol; s++)
			if (is_shared(symbol[s], names + symbol[s].st_name))
				all.push_back({ (char *)base + symbol[s].st_value, symbol[s].st_size,
				                names + symbol[s].st_name + 3 });
	}
	if (all.empty()) {
		fprintf(stderr,
		        "emulate: the program has no symbols, so that its shared memory is not found\n");
		abort();
	}
	return all;
}

} /* namespace */

void poison_shared(const char *kernel)
{
	static const std::vector<variable> all = find_shared();
	const std::string mangled = kernel ? std::to_string(strlen(kernel)) + kernel : "";
	for (const variable &v : all)
		if (v.function.find(mangled) != std::string::npos)
			memset(v.at, POISON, v.bytes);
}

} /* namespace emulate */
