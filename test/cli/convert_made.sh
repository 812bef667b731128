#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# limit: 15 minutes
#
# Files that xarray, rasterio, tifffile, netCDF4, h5py and zarr write, against the values that these read. Each difference is a fault of
# dlx-convert, or a refusal that says what is not read.
. "${DLX_SOURCE:?}/test/lib.sh"
big || skip "takes packages of Python that ./bootstrap does not install: in make bigcheck"
built_with TIFF libtiff-dev

# Those that were tried; others serve, too.
packages="xarray==2026.9.0 rasterio==1.4.4 tifffile==2026.3.3 netCDF4==1.7.5.1.post1 h5py==3.16.0 zarr==3.1.6 h5netcdf==1.8.2 scipy==1.17.1 imagecodecs==2026.3.6"
has_packages() {
	"$1" -c 'import cftime, h5netcdf, h5py, imagecodecs, netCDF4, rasterio, scipy, tifffile, xarray, zarr; zarr.create_array' 2>err
}
find_python3
for python3 in ${PYTHON:-} /usr/bin/python3 python3 none; do
	command -v "$python3" >/dev/null && has_packages "$python3" && break
done
[ "$python3" != none ] || {
	for python3 in ${PYTHON:-} /usr/bin/python3 python3; do
		command -v "$python3" >/dev/null && "$python3" -m venv --clear venv >log 2>&1 && break
	done
	python3=$work/venv/bin/python3
	# shellcheck disable=SC2086
	[ -x venv/bin/pip ] && capped venv/bin/pip install --quiet --disable-pip-version-check $packages >log 2>&1 || {
		cat log
		skip "packages of Python that write these files are neither there, nor can they be installed"
	}
	has_packages "$python3" || { cat err; fail "the packages do not fit each other"; }
}
"$python3" -c 'import xarray, rasterio, tifffile, netCDF4, h5py, zarr
print(*(f"{m.__name__} {m.__version__}" for m in (xarray, rasterio, tifffile, netCDF4, h5py, zarr)), rasterio.__gdal_version__)'

failed=
for script in by_xarray by_rasterio by_tifffile by_netcdf4 by_h5py meetings; do
	echo "== $script"
	capped "$python3" "$DLX_SOURCE/test/cli/made/$script.py" "$convert" "$work/$script" || failed="$failed $script"
done
[ -z "$failed" ] || fail "faults in$failed"
pass
