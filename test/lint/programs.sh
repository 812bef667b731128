#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Only dlx-train runs networks, and dlx-simulate plans them; the other programs contain nothing that does: no kernel, no device code, no
# library that computes. dlx-bench runs plans too, but of tasks: it contains the executor, and no op.
# One name of a file brings everything into a program that the file needs in turn, down to the table of ops, and no include shows it.
# So the symbols of the programs are compared with those of libdlx.a.
#
#     DLX_BUILD=DIR srcdir=DIR test/lint/programs.sh        (make check sets both)
set -u
build=${DLX_BUILD:?}
cd "${srcdir:-.}" || exit 99
command -v nm >/dev/null || {
	echo "SKIP: no nm (package binutils)"
	exit 77
}
runs="src/backend src/op src/pass src/plan src/train cuda"      # the folders whose files plan and run networks
failed=0

# contents PROGRAM: the files of those folders that are in it, each with one of its symbols. A file counts if all its symbols are there:
# a program may have a function of its own with the name of one of the library's.
contents()
{
	# shellcheck disable=SC2086
	{
		find $runs -name '*.c' -o -name '*.cu'
		nm -A "$build/libdlx.a"
		nm -A "$1"
	} 2>/dev/null | awk -v program="$1" '
	NF == 1 {
		name = $1
		sub(/.*\//, "", name)
		sub(/[.]cu?$/, "", name)
		path[name] = $1
		next
	}
	$(NF - 1) !~ /^[TDBR]$/ { next }
	substr($0, 1, length(program) + 1) == program ":" {
		has[$NF]
		next
	}
	{
		n = split($0, part, ":")
		name = part[n - 1]
		sub(/[.]o$/, "", name)
		if (name in path)
			maker[$NF] = path[name]
	}
	END {
		for (symbol in maker) {
			example[maker[symbol]] = symbol
			lacks[maker[symbol]] += !(symbol in has)
		}
		for (file in example)
			if (!lacks[file])
				print file, example[file]
	}' | sort
}

contents "$build/dlx-train" | grep -q '^src/op/table[.]c ' || {
	echo "dlx-train contains no table of ops: what runs networks is not recognised, in other programs neither"
	failed=1
}
for p in "$build"/dlx-*; do
	case ${p##*/} in
	dlx-simulate | dlx-train | *.*) continue ;;
	dlx-bench)
		found=$(contents "$p" | grep -E '^src/(op|pass|plan|train)/' | grep -v '^src/op/table[.]c ')
		[ -z "$found" ] || {
			echo "dlx-bench runs no network, but contains:"
			echo "$found" | head -n 5
			failed=1
		}
		continue
		;;
	esac
	found=$(contents "$p")
	[ -z "$found" ] || {
		echo "${p##*/} runs no network, but contains:"
		echo "$found" | head -n 5
		echo "(files: $(echo "$found" | wc -l); LDFLAGS=-Wl,-Map=FILE makes a map that says by which symbol each came in)"
		failed=1
	}
	library=$(readelf -d "$p" 2>/dev/null | sed -n 's/.*NEEDED.*\[\(lib\(dnnl\|cuda\|cudnn\|cublas\|nccl\).*\)\].*/\1/p')
	[ -z "$library" ] || {
		echo "${p##*/} runs no network, but loads $library"
		failed=1
	}
done
exit $failed
