#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What dlx-convert and dlx-inspect say and exit with when something is wrong: each line of `expect` gives the exit
# status, a part of the message, and the command. Nothing may be left by a conversion that failed.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
PATH=$DLX_BUILD:$PATH
failures=0

expect() {
	want=$1 text=$2
	shift 2
	"$@" >"$dir/stdout" 2>"$dir/stderr" </dev/null
	got=$?
	if [ $got -ne "$want" ]; then
		echo "exit status $got instead of $want: $*"
		sed 's/^/    /' "$dir/stderr"
		failures=$((failures + 1))
	elif ! cat "$dir/stdout" "$dir/stderr" | grep -qF -e "$text"; then
		echo "no '$text' in what this prints: $*"
		sed 's/^/    /' "$dir/stderr"
		failures=$((failures + 1))
	fi
}

"$DLX_BUILD/test/cli/make_sources" "$dir" || exit 1
cd "$dir" || exit 99
printf 'hello' >text.txt
cp text.txt text.nc
cp text.txt text.h5
cp text.txt text.npz
head -c 2000 grid.h5 >short.h5
head -c 300 grid.nc >short.nc
printf '\223NUMPY\001\000\106\000{"descr": 1}' >short.npy
{
	printf '\223NUMPY\001\000\106\000%-69s\n' "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 1), }"
	printf '\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\200'
} >large.npy
printf '\000\000\010\001\377\377\377\377abc' >short.idx
printf 'PK\003\004 and nothing else that a zip has' >short.npz

good="-i grid.nc:wind -t grid.nc:kind -o out.dlx"

# the command line: 64
expect 64 "no --input given" dlx-convert
expect 64 "no --output given" dlx-convert -i a -t b
expect 64 "did you mean '--samples'" dlx-convert --sample 3
expect 64 "unknown option '-x'" dlx-convert -x
expect 64 "option '--samples' needs a value" dlx-convert --samples
expect 64 "option '--help' takes no value" dlx-convert --help=3
expect 64 "option '--output' has an empty value" dlx-convert $good --output=
expect 64 "option '--level': '20' is no whole number from 0 to 19" dlx-convert $good -l20
expect 64 "unexpected argument 'grid.h5'" dlx-convert $good grid.h5
expect 64 "option '--level': 'best'" dlx-convert $good --level best
expect 64 "0 to 19" dlx-convert $good --level 20
expect 64 "there is no sample 4; the input has 4" dlx-convert $good --samples 1,4
expect 64 "cannot read '1,,2'" dlx-convert $good --samples 1,,2
expect 64 "cannot read '3-5'" dlx-convert $good --samples 3-5
expect 64 "cannot read ':3:0'" dlx-convert $good --samples :3:0
expect 64 "leaves none" dlx-convert $good --samples '!:'
expect 64 "edges must rise" dlx-convert $good --classes 3,2
expect 64 "an edge must be a number" dlx-convert $good --classes 1,nan
expect 64 "'warm' is no number" dlx-convert $good --classes warm
expect 64 "2 names for 3 classes" dlx-convert $good --classes 1,2 --class-names a,b
expect 64 "--class-names: 'a' is there twice" dlx-convert $good --classes 1,2 --class-names a,b,a
expect 64 "4 names for 1 channels" dlx-convert $good --channel-names a,b,c,d
expect 64 "'a' is there twice" dlx-convert -i grid.nc:wind,temp -t grid.nc:kind -o out.dlx --channel-names a,a
cp grid.nc same.nc
ln same.nc link.dlx
expect 64 "'link.dlx' cannot be written" dlx-convert -i same.nc:wind -t grid.nc:kind -o link.dlx
cmp -s grid.nc same.nc || { echo "a source was overwritten"; failures=$((failures + 1)); }
expect 64 "no whole number" dlx-convert $good --ignore none
expect 64 "does not fit u8" dlx-convert $good --ignore 300 --target-dtype u8
expect 64 "2 is the number of a class" dlx-convert $good --classes 1,2 --ignore 2
expect 64 "belongs to class labels" dlx-convert -i grid.nc:wind -t grid.nc:temp -o out.dlx --ignore 3
expect 64 "the target has no classes" dlx-convert -i grid.nc:wind -t grid.nc:temp -o out.dlx --class-names a
expect 64 "would make it class labels" dlx-convert -i grid.nc:wind -t grid.nc:temp -o out.dlx --target-dtype u8
expect 64 "labels need an integer type" dlx-convert $good --target-dtype f32
expect 64 "unknown type 'f31'" dlx-convert $good --dtype f31
expect 64 "did you mean 'first'" dlx-convert $good --input-layout frist
expect 64 "did you mean 'netcdf'" dlx-convert $good --format netdcf
expect 64 "has 5 variables; name those wanted" dlx-convert -i grid.h5 -t grid.nc:kind -o out.dlx
expect 64 "cannot be chosen" dlx-convert -i short.idx:x -t grid.nc:kind -o out.dlx

# files and variables that are not there: 66
expect 66 "'no.nc'" dlx-convert -i no.nc:wind -t grid.nc:kind -o out.dlx
expect 66 "not a regular file" dlx-convert -i /dev/zero -t grid.nc:kind -o out.dlx
expect 66 "neither a Zarr store nor an LMDB database; './*.png' in quotes is all of its PNG files" dlx-convert -i . -t grid.nc:kind -o out.dlx
expect 66 "no file matches 'no-*.h5'" dlx-convert -i 'no-*.h5' -t grid.nc:kind -o out.dlx
expect 66 "no variable 'wint' (did you mean 'wind'?); it has: temp, wind, kind, packed" \
	dlx-convert -i grid.nc:wint -t grid.nc:kind -o out.dlx
expect 66 "no variable 'fields/tmp' (did you mean 'fields/temp'?)" \
	dlx-convert -i grid.h5:fields/tmp -t grid.nc:kind -o out.dlx

# the library would read zeros
expect 66 "the file 'away/grid-0.h5', which has a part of its values, is missing" dlx-convert -i partless.h5 --input-layout last -o out.dlx

# data that is damaged, foreign or does not fit: 65
expect 65 "netcdf" dlx-convert -i text.nc:wind -t grid.nc:kind -o out.dlx
expect 65 "'short.nc'" dlx-convert -i short.nc:wind -t grid.nc:kind -o out.dlx
for format in netcdf hdf5; do
	expect 65 "'text': its attribute 'scale_factor' is no single number" dlx-convert -f $format -i unscaled.nc:text -o out.dlx
	expect 65 "'two': its attribute 'add_offset' is no single number" dlx-convert -f $format -i unscaled.nc:two -o out.dlx
	expect 65 "'gap': its attribute 'missing_value' is no number; say which values are missing, as in --missing=-999,1e20" \
		dlx-convert -f $format -i unscaled.nc:gap -o out.dlx
	expect 0 "samples, " dlx-convert -f $format -i unscaled.nc:gap --missing=-9 -o out.dlx
	rm -f out.dlx
done
expect 65 "not an HDF5 file" dlx-convert -i text.h5:wind -t grid.nc:kind -o out.dlx
expect 65 "have 2097152 channels, more than the 1048576 of a record" dlx-convert -i vast.h5:vast --input-layout first -t grid.nc:kind -o out.dlx
expect 65 "'short.h5'" dlx-convert -i short.h5:wind -t grid.nc:kind -o out.dlx
expect 65 "'large': the value 9223372036854775808 is too large for i64" dlx-convert -i large.npy -o out.dlx
expect 65 "damaged .npy header" dlx-convert -i short.npy -t grid.nc:kind -o out.dlx
expect 65 "promises more values" dlx-convert -i short.idx -t grid.nc:kind -o out.dlx
expect 65 "not a zip archive" dlx-convert -i text.npz:a -t grid.nc:kind -o out.dlx
expect 65 "no directory at its end" dlx-convert -i short.npz:a -t grid.nc:kind -o out.dlx
expect 65 "say --format" dlx-convert -i text.txt -t grid.nc:kind -o out.dlx
# kind NAME AT MAGIC: a file of zeros with this at a byte
kind() {
	head -c 600 /dev/zero >"$1"
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
for name in foreign foreign.nc foreign.h5 foreign.npy; do
	kind $name 0 GRIB
	expect 65 "'$name' is a GRIB file, of which 'cdo -f nc4 copy' or grib_to_netcdf makes a NetCDF file" dlx-convert -i $name -o out.dlx
	kind $name 128 DICM
	expect 65 "'$name' is a DICOM file, of which pydicom" dlx-convert -i $name -o out.dlx
	kind $name 344 'n+1\000'
	expect 65 "'$name' is a NIfTI file, of which nibabel" dlx-convert -i $name -o out.dlx
	kind $name 0 'SIMPLE  =                    T'
	expect 65 "'$name' is a FITS file, of which astropy.io.fits" dlx-convert -i $name -o out.dlx
	kind $name 0 'MATLAB 5.0 MAT-file'
	expect 65 "'$name' is a MATLAB file, of which scipy.io.loadmat" dlx-convert -i $name -o out.dlx
	kind $name 0 PAR1
	expect 65 "'$name' is a Parquet file, of which pandas.read_parquet" dlx-convert -i $name -o out.dlx
	kind $name 0 '\016\003\023\001'
	expect 65 "'$name' is an HDF4 file, of which h4toh5" dlx-convert -i $name -o out.dlx
done
gzip -c text.txt >text.gz
expect 65 "'text.gz' is compressed with gzip: unpack it first" dlx-convert -i text.gz -o out.dlx
# HDF5 after what MATLAB writes before it is read as such
{ printf '%-512s' 'MATLAB 7.3 MAT-file'; cat grid.h5; } >user.mat
expect 0 "4 samples, " dlx-convert -i user.mat:fields/wind --input-layout stack -o out.dlx
rm out.dlx
expect 65 "neither floats nor integers" dlx-convert -i grid.nc:text -t grid.nc:kind -o out.dlx
expect 64 "convert each input with its target by itself" dlx-convert --separate -i grid.nc:temp -t grid.nc:kind -o out.dlx
expect 65 "not enough axes" dlx-convert -i grid.nc:one -t grid.nc:kind -o out.dlx
expect 65 "has 3 samples" dlx-convert -i 'sample-[0-2].h5:temp' -t grid.nc:kind -o out.dlx
expect 65 "a sample of 'temp' is 3x5, of 'cube' 3x5x2" \
	dlx-convert -i grid.nc:temp -i grid.h5:cube -t grid.nc:kind -o out.dlx --input-layout stack
expect 65 "5 missing values; say what label" \
	dlx-convert -i grid.nc:wind -t grid.nc:temp --classes 5 --samples 0,1 --missing=-999,1,101,2 -o out.dlx
for many in many.nc many.h5; do
	expect 65 "'$many', 'v': it has more missing values than are read; say which of them count, as in --missing=-999,1e20" \
		dlx-convert -i $many -o out.dlx
	expect 0 "samples, " dlx-convert -i $many --missing=13 -o out.dlx
	rm -f out.dlx
done
expect 65 "has the label 2 at (2, 0), which is no class 0..1" dlx-convert $good --class-names a,b
expect 65 "sample 0 of the input has a value -1 at (0, 0, 1), which does not fit u8" \
	dlx-convert -i grid.nc:wind -t grid.nc:kind -o out.dlx --dtype u8
expect 65 "sample 3 of the input has a value -300 at (0, 0, 0), which does not fit i8; see --dtype" \
	dlx-convert -i grid.nc:wind -t grid.nc:kind -o out.dlx --samples 3 --dtype i8

# output: 73, 74
expect 73 "no/such/out.dlx" dlx-convert -i grid.nc:wind -t grid.nc:kind -o no/such/out.dlx
expect 74 "out.dlx" env DLX_DEBUG="${DLX_DEBUG:+$DLX_DEBUG,}fault=write:2" dlx-convert $good
for file in out* .out*; do
	[ ! -e "$file" ] || { echo "left behind: $file"; failures=$((failures + 1)); }
done

# a record: intact, then damaged
expect 0 "out.dlx: 4 samples" dlx-convert $good
expect 0 "4 samples match" dlx-inspect --verify out.dlx
expect 0 '"verified": true' dlx-inspect --verify --json out.dlx
expect 0 "made by    dlx-convert -i grid.nc:wind" dlx-inspect out.dlx
expect 0 "4 pictures" dlx-inspect --png maps --north-up out.dlx
[ -s maps/sample-00003.png ] || { echo "no maps/sample-00003.png"; failures=$((failures + 1)); }
head -c 900 out.dlx >cut.dlx
cp out.dlx flip.dlx
printf 'X' | dd of=flip.dlx bs=1 seek=50 conv=notrunc 2>/dev/null
expect 65 "'cut.dlx': byte 892: truncated" dlx-inspect cut.dlx
expect 0 "flip.dlx" dlx-inspect flip.dlx
expect 65 "'flip.dlx': sample 0, array 'input', chunk 0 at byte 16: damaged" dlx-inspect --verify flip.dlx
expect 65 "a NetCDF file: convert it with dlx-convert" dlx-inspect grid.nc
expect 65 "not a dlx record" dlx-inspect text.txt
for f in nothing nothing.npy nothing.npz nothing.nc nothing.h5 nothing.idx nothing.png nothing.tiff; do
	: >$f
	expect 65 "'$f' is empty" dlx-convert -i $f -o out.dlx
done
expect 65 "'nothing': byte 0: not a dlx record file; it is empty" dlx-inspect nothing
expect 66 "'no.dlx'" dlx-inspect no.dlx
expect 64 "no file given" dlx-inspect
expect 64 "did you mean '--verify'" dlx-inspect --verfy out.dlx
expect 64 "no sample 9" dlx-inspect --png maps --samples 9 out.dlx
expect 64 "no --png given" dlx-inspect --samples 1 out.dlx
expect 0 "usage: dlx-inspect" dlx-inspect --help
expect 0 "usage: dlx-convert" dlx-convert --help

# each option of --help is in the man page, and no other
for program in dlx-convert dlx-inspect; do
	page=$DLX_SOURCE/man/$program.1
	$program --help | sed -n 's/^  [-a-z, ]*--\([a-z-]*\).*/\1/p' | sort >in-help
	sed -n 's/^\.It \(Fl .*\)/\1/p' "$page" | tr ' ' '\n' | sed -n 's/^-\([a-z-]*\).*/\1/p' | sort >in-page
	cmp -s in-help in-page || { echo "$page and --help differ:"; diff in-help in-page; failures=$((failures + 1)); }
done

[ $failures -eq 0 ]
