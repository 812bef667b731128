#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A release holds exactly what the repository holds, and what autoreconf makes.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -e "$DLX_SOURCE/.git" ] || skip "no git checkout"
git -C "$DLX_SOURCE" ls-files >tracked 2>err || { cat err; fail "git"; }
[ -s tracked ] || skip "no git checkout"
[ "$(git -C "$DLX_SOURCE" rev-parse --show-prefix)" = "" ] || skip "inside another repository"
unset MAKEFLAGS MAKELEVEL
make -C "$DLX_BUILD" -s distdir distdir="$work/dist" >log 2>&1 || {
	cat log
	fail "make distdir"
}
grep -v '^\.gitignore$' tracked | sort >expected
(cd dist && find . -type f) | sed 's,^\./,,' | grep -v -e '^build-aux/' -e '^Makefile\.in$' -e '^aclocal\.m4$' \
	-e '^config\.h\.in$' -e '^configure$' | sort >distributed
diff expected distributed >difference || {
	cat difference
	fail "<: only in the repository (list it in Makefile.am), >: only in the release"
}
# As make has a rule to make a file of one called so with .sh, for example.
while read -r file; do
	[ ! -f "dist/$file" ] || cmp "$DLX_SOURCE/$file" "dist/$file" || fail "the release has another file"
done <expected
chmod -R u+w dist
pass
