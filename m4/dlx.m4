# SPDX-License-Identifier: BSD-3-Clause
#
# How configure finds things. Each macro leaves one line for the closing table in a shell variable of its own and
# never stops: what is missing is gathered in dlx_missing, so that one run of configure names all of it.

# DLX_MISSING(WHAT, DEBIAN-PACKAGE)
AC_DEFUN([DLX_MISSING], [AS_VAR_APPEND([dlx_missing], ["
    $1 (Debian: $2)"])])

# DLX_PACKAGE(NAME, PKG-CONFIG-MODULE, WHAT, DEBIAN-PACKAGE): a required library. Sets NAME_CFLAGS, NAME_LIBS,
# have_NAME to its version.
AC_DEFUN([DLX_PACKAGE], [
PKG_CHECK_MODULES([$1], [$2],
	[have_$1=`$PKG_CONFIG --modversion "$2" | sed q`],
	[have_$1=missing; DLX_MISSING([$3], [$4])])
])

# DLX_HEADER_VERSION(VARIABLE, HEADER, EXPRESSION, [FLAGS], [COMPILER]): VARIABLE becomes the macros of EXPRESSION, such
# as X_MAJOR.X_MINOR, with their values, or empty if there is no such header.
AC_DEFUN([DLX_HEADER_VERSION], [
AC_LANG_CONFTEST([AC_LANG_SOURCE([[#include <$2>
dlx_version $3]])])
$1=`m4_default([$5], [$CC]) -E -P $CPPFLAGS $4 conftest.c 2>/dev/null | sed -n '/^dlx_version/,$p' |
	sed 's/^dlx_version//' | tr -d ' "()\n'`
AS_CASE([$$1], [[*[A-Z]*]], [$1=])
rm -f conftest.c
])

# DLX_WITH(NAME, TEXT): --with-NAME=yes|no|DIR; sets with_NAME, "auto" if it was not given.
AC_DEFUN([DLX_WITH], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=yes|no|DIR@:>@], [$2])], [], [with_$1=auto])
AS_CASE([$with_$1], [yes|no|auto|/*], [],
	[AC_MSG_ERROR([--with-$1=$with_$1: expected yes, no or an absolute folder])])
])

# DLX_REQUIRED(NAME, WHERE-IT-WAS-SOUGHT): the outcome "not found" is an error if the user asked for NAME.
AC_DEFUN([DLX_REQUIRED], [
AS_CASE([$with_$1], [no|auto], [], [AC_MSG_ERROR([--with-$1=$with_$1 was given, but $2])])
])

# Sets have_cuda to the version and NVCC, CUDA_HOME to where it is.
AC_DEFUN([DLX_CUDA], [
DLX_WITH([cuda], [the CUDA toolkit; default: taken if it is there])
AC_ARG_VAR([NVCC], [the CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags for it])
have_cuda=no
AS_CASE([$with_cuda],
	[no], [NVCC=],
	[/*], [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])],
	[AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin:/opt/cuda/bin])])
AS_IF([test -n "$NVCC"], [
	have_cuda=`"$NVCC" --version 2>/dev/null | sed -n 's/.*release .*, V\(@<:@0-9.@:>@*\).*/\1/p'`
	AS_IF([test -z "$have_cuda"], [have_cuda=no])
])
AS_IF([test "$have_cuda" = no],
	[AS_IF([test "$with_cuda" != no], [DLX_REQUIRED([cuda], [no working nvcc was found (set NVCC or give its folder)])])],
	[AS_CASE([$with_cuda], [/*], [CUDA_HOME=$with_cuda], [CUDA_HOME=`dirname "$NVCC"`; CUDA_HOME=`dirname "$CUDA_HOME"`])])
])

# cuDNN and NCCL, beside CUDA or where the compiler looks: have_cudnn, have_nccl.
AC_DEFUN([DLX_CUDA_LIBRARIES], [
DLX_WITH([nccl], [NVIDIA's collectives; default: taken if they are there])
have_cudnn=no
have_nccl=no
AS_IF([test "$have_cuda" != no], [
	AC_MSG_CHECKING([for cuDNN])
	DLX_HEADER_VERSION([have_cudnn], [cudnn_version.h],
		[CUDNN_MAJOR.CUDNN_MINOR.CUDNN_PATCHLEVEL], ["-I$CUDA_HOME/include"])
	AS_IF([test -z "$have_cudnn"], [have_cudnn=no])
	AC_MSG_RESULT([$have_cudnn])
	# Older ones do not know the run-time engines and the attributes that src/backend/cuda asks for.
	AS_IF([test "$have_cudnn" != no &&
		test `echo "$have_cudnn" | awk -F. '{ print 1000 * @S|@1 + @S|@2 }'` -lt 9008], [
		DLX_REQUIRED([cuda], [cuDNN $have_cudnn is too old: the GPU backend needs 9.8 or newer])
		AC_MSG_WARN([cuDNN $have_cudnn is too old: without 9.8 or newer there is no GPU backend])
		have_cudnn=no
	])
	AS_IF([test "$have_cudnn" = no],
		[DLX_REQUIRED([cuda], [no cudnn_version.h was found (cuDNN 9.8 or newer): give its folder in CPPFLAGS])])
	AS_IF([test "$with_nccl" != no], [
		AC_MSG_CHECKING([for NCCL])
		dlx_nccl_flags="-I$CUDA_HOME/include"
		AS_CASE([$with_nccl], [/*], [dlx_nccl_flags="-I$with_nccl/include $dlx_nccl_flags"])
		DLX_HEADER_VERSION([have_nccl], [nccl.h], [NCCL_MAJOR.NCCL_MINOR.NCCL_PATCH], [$dlx_nccl_flags])
		AS_IF([test -z "$have_nccl"], [have_nccl=no])
		AC_MSG_RESULT([$have_nccl])
	])
])
AS_IF([test "$have_nccl" = no && test "$with_nccl" != no],
	[DLX_REQUIRED([nccl], [nccl.h was not found (it also needs CUDA)])])
])

# The GPU backend is built if CUDA and cuDNN are there: use_cuda, the conditional HAVE_CUDA, CUDA_CPPFLAGS, CUDA_LIBS, NVCCFLAGS.
# cuDNN, cuBLASLt and NCCL are not linked, but loaded when a GPU, or several, are used.
AC_DEFUN([DLX_CUDA_BUILD], [
AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
	[GPU architectures to generate code for, separated by commas @<:@80,90,100; with CUDA 12 70,80,90 too@:>@; the last one as PTX too])],
	[CUDA_ARCH=$withval], [
	# CUDA 13 knows nothing older than Turing, CUDA before 12.8 no Blackwell.
	AS_CASE([$have_cuda],
		[[12.[0-7].*]], [CUDA_ARCH=70,80,90],
		[[12.*]], [CUDA_ARCH=70,80,90,100],
		[CUDA_ARCH=80,90,100])
])
AS_CASE([$CUDA_ARCH], [*[[!0-9af,]]*|''|,*|*,|*,,*], [AC_MSG_ERROR([--with-cuda-arch=$CUDA_ARCH: numbers such as 80,90 were expected])])
use_cuda=no
use_nccl=no
AS_IF([test "$have_cuda" != no && test "$have_cudnn" != no], [
	use_cuda=yes
	dlx_gencode=
	for a in `echo "$CUDA_ARCH" | tr , ' '`; do
		dlx_gencode="$dlx_gencode -gencode arch=compute_$a,code=sm_$a"
		dlx_last=$a
	done
	# By itself nvcc compresses PTX alone. The smallest code takes drivers of CUDA 12.4 or newer, which with CUDA 13 are needed anyway.
	AS_CASE([$have_cuda],
		[[1[3-9].*|[2-9]*]], [dlx_compress=--compress-mode=size],
		[dlx_compress='-Xfatbin -compress-all'])
	NVCCFLAGS="-O3 -std=c++17 $dlx_compress -Xcompiler -fno-threadsafe-statics -ccbin ${CXX:-g++} $NVCCFLAGS $dlx_gencode -gencode arch=compute_$dlx_last,code=compute_$dlx_last"
	CUDA_CPPFLAGS="-DHAVE_CUDA -isystem $CUDA_HOME/include"
	AS_IF([test "$have_nccl" != no], [
		use_nccl=yes
		CUDA_CPPFLAGS="$CUDA_CPPFLAGS -DHAVE_NCCL"
		AS_CASE([$with_nccl], [/*], [CUDA_CPPFLAGS="$CUDA_CPPFLAGS -isystem $with_nccl/include"])
	])
	dlx_cuda_lib=$CUDA_HOME/lib64
	AS_IF([test -d "$dlx_cuda_lib"], [], [dlx_cuda_lib=$CUDA_HOME/lib])
	CUDA_LIBS="-L$dlx_cuda_lib -lcudart_static -ldl -lrt"
	AC_MSG_CHECKING([whether nvcc makes code for $CUDA_ARCH])
	echo '__global__ void k() {}' > conftest.cu
	AS_IF(["$NVCC" $NVCCFLAGS -c conftest.cu -o conftest.o >&AS_MESSAGE_LOG_FD 2>&1], [AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		AC_MSG_ERROR([nvcc cannot generate code for --with-cuda-arch=$CUDA_ARCH (see config.log)])])
	rm -f conftest.cu conftest.o
])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
AM_CONDITIONAL([HAVE_CUDA], [test "$use_cuda" = yes])
AM_CONDITIONAL([HAVE_NCCL], [test "$use_nccl" = yes])
])

# have_mpi becomes "MPICH 4.0.2", "Open MPI 4.1.4" or "MPI 3.1"; MPICC its compiler, which only says where things are: MPI_CPPFLAGS is
# where mpi.h is, DLX_MPI_LIBRARY the file that is opened when a launcher has started several processes.
AC_DEFUN([DLX_MPI], [
DLX_WITH([mpi], [MPI; default: taken if mpicc is there])
AC_ARG_VAR([MPICC], [the MPI compiler wrapper])
AC_CHECK_TOOL([READELF], [readelf])
have_mpi=no
AS_CASE([$with_mpi],
	[no], [MPICC=],
	[/*], [AC_PATH_PROG([MPICC], [mpicc], [], [$with_mpi/bin])],
	[AC_PATH_PROG([MPICC], [mpicc])])
AS_IF([test -n "$MPICC"], [
	AC_MSG_CHECKING([which MPI])
	DLX_HEADER_VERSION([dlx_mpich], [mpi.h], [MPICH_VERSION], [], ["$MPICC"])
	DLX_HEADER_VERSION([dlx_openmpi], [mpi.h],
		[OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION], [], ["$MPICC"])
	DLX_HEADER_VERSION([dlx_mpi], [mpi.h], [MPI_VERSION.MPI_SUBVERSION], [], ["$MPICC"])
	AS_IF([test -n "$dlx_mpich"], [have_mpi="MPICH $dlx_mpich"],
		[test -n "$dlx_openmpi"], [have_mpi="Open MPI $dlx_openmpi"],
		[test -n "$dlx_mpi"], [have_mpi="MPI $dlx_mpi"])
	AC_MSG_RESULT([$have_mpi])
])
MPI_CPPFLAGS=
AS_IF([test "$have_mpi" != no], [DLX_MPI_FILE])
AS_IF([test "$have_mpi" = no && test "$with_mpi" != no],
	[DLX_REQUIRED([mpi], [no working mpicc was found (set MPICC or give its folder)])])
AC_SUBST([MPI_CPPFLAGS])
AM_CONDITIONAL([HAVE_MPI], [test "$have_mpi" != no])
])

# The name that a program linked by mpicc asks the loader for, with its folder if the wrapper names one that the loader may not know.
AC_DEFUN([DLX_MPI_FILE], [
AC_MSG_CHECKING([for the library of $have_mpi])
dlx_mpi_library=
dlx_mpi_show=`"$MPICC" -show 2>/dev/null`
echo 'int MPI_Finalize(void); int main(void) { return MPI_Finalize(); }' > conftest.c
AS_IF(["$MPICC" -o conftest$EXEEXT conftest.c >&AS_MESSAGE_LOG_FD 2>&1], [
	dlx_mpi_library=`"${READELF:-readelf}" -d conftest$EXEEXT 2>/dev/null | sed -n 's/.*(NEEDED).*\@<:@\(lib@<:@^@:>@@:>@*mpi@<:@^@:>@@:>@*\)@:>@.*/\1/p' | sed q`
])
rm -f conftest.c conftest$EXEEXT
for a in $dlx_mpi_show; do
	AS_CASE([$a],
		[-I*], [MPI_CPPFLAGS="$MPI_CPPFLAGS -isystem `echo "$a" | sed 's/^-I//'`"],
		[-L/usr/lib|-L/usr/lib/*-linux-*|-L/lib|-L/lib64|-L/usr/lib64], [],
		[-L*], [
			dlx_folder=`echo "$a" | sed 's/^-L//'`
			AS_IF([test -f "$dlx_folder/$dlx_mpi_library"], [dlx_mpi_library=$dlx_folder/$dlx_mpi_library])
		])
done
AS_IF([test -n "$dlx_mpi_library"], [
	AC_DEFINE_UNQUOTED([DLX_MPI_NAME], ["$have_mpi"], [the MPI whose mpi.h was compiled against])
	AC_DEFINE_UNQUOTED([DLX_MPI_LIBRARY], ["$dlx_mpi_library"], [file of the MPI library, opened late])
	AC_MSG_RESULT([$dlx_mpi_library])
], [
	have_mpi=no
	AC_MSG_RESULT([none: $MPICC does not link with a shared library])
])
])

# oneDNN by pkg-config, or its header and library where the compiler looks. Sets DNNL_CFLAGS, DNNL_LIBS, have_DNNL.
AC_DEFUN([DLX_ONEDNN], [
PKG_CHECK_MODULES([DNNL], [dnnl], [], [
	DNNL_CFLAGS=
	DNNL_LIBS=-ldnnl
])
AC_MSG_CHECKING([for oneDNN])
DLX_HEADER_VERSION([have_DNNL], [oneapi/dnnl/dnnl_version.h],
	[DNNL_VERSION_MAJOR.DNNL_VERSION_MINOR.DNNL_VERSION_PATCH], [$DNNL_CFLAGS])
dlx_save_libs=$LIBS
LIBS="$DNNL_LIBS $LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[const void *dnnl_version(void);]], [[return !dnnl_version();]])],
	[], [have_DNNL=])
LIBS=$dlx_save_libs
AS_IF([test -z "$have_DNNL"], [have_DNNL=missing; DLX_MISSING([oneDNN], [libdnnl-dev])])
AC_MSG_RESULT([$have_DNNL])
AS_CASE([$have_DNNL], [missing|2.*|3.*], [],
	[AC_MSG_ERROR([oneDNN $have_DNNL is not supported: 2.x or 3.x is needed])])
])

# DLX_FLAG(VARIABLE, FLAG): adds FLAG if the compiler takes it without a word.
AC_DEFUN([DLX_FLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
dlx_save_cflags=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes]); $1="$$1 $2"], [AC_MSG_RESULT([no])])
CFLAGS=$dlx_save_cflags
])

# DLX_LINK_FLAG(VARIABLE, FLAG): adds FLAG if programs are linked with it without a word. VARIABLE is substituted.
AC_DEFUN([DLX_LINK_FLAG], [
AC_MSG_CHECKING([whether $CC links with $2])
dlx_save_ldflags=$LDFLAGS
LDFLAGS="$LDFLAGS -Werror $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes]); $1="$$1 $2"], [AC_MSG_RESULT([no])])
LDFLAGS=$dlx_save_ldflags
AC_SUBST([$1])
])

# DLX_NETCDF_LATE: the file of the netCDF library, which dlx-train opens when it writes such a file: with what it depends on, it
# takes longer to load than all others together. Sets NETCDF_NOW, what is linked where that file cannot be told.
AC_DEFUN([DLX_NETCDF_LATE], [
AC_CHECK_TOOL([READELF], [readelf])
AC_MSG_CHECKING([for the file of netCDF])
dlx_netcdf_library=
echo 'int nc_close(int); int main(void) { return nc_close(0); }' > conftest.c
AS_IF([$CC $CFLAGS $LDFLAGS -o conftest$EXEEXT conftest.c $NETCDF_LIBS >&AS_MESSAGE_LOG_FD 2>&1], [
	dlx_netcdf_library=`"${READELF:-readelf}" -d conftest$EXEEXT 2>/dev/null | sed -n 's/.*(NEEDED).*\@<:@\(libnetcdf@<:@^@:>@@:>@*\)@:>@.*/\1/p' | sed q`
])
rm -f conftest.c conftest$EXEEXT
AS_IF([test -n "$dlx_netcdf_library"], [
	for a in $LDFLAGS $NETCDF_LIBS; do
		AS_CASE([$a],
			[-L/usr/lib|-L/usr/lib/*-linux-*|-L/lib|-L/lib64|-L/usr/lib64], [],
			[-L*], [
				dlx_folder=`echo "$a" | sed 's/^-L//'`
				AS_IF([test -f "$dlx_folder/$dlx_netcdf_library"], [dlx_netcdf_library=$dlx_folder/$dlx_netcdf_library])
			])
	done
	AC_DEFINE_UNQUOTED([DLX_NETCDF_LIBRARY], ["$dlx_netcdf_library"], [file of the netCDF library, opened late])
	NETCDF_NOW=
	AC_MSG_RESULT([$dlx_netcdf_library])
], [
	NETCDF_NOW=$NETCDF_LIBS
	AC_MSG_RESULT([not told; linked])
])
AC_SUBST([NETCDF_NOW])
])
