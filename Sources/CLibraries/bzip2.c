// libbz2 (bzlib.h): what Bsdiff calls.
#include "loading.h"

LIBRARY(bzip2, "libbz2.so.1.0", "libbz2.so.1")

#ifndef __APPLE__
#include <bzlib.h>

RETURNS(
    int, BZ2_bzCompressInit, (bz_stream *of, int level, int verbosity, int workFactor),
    (of, level, verbosity, workFactor), BZ_CONFIG_ERROR)
RETURNS(int, BZ2_bzCompress, (bz_stream *of, int action), (of, action), BZ_CONFIG_ERROR)
RETURNS(int, BZ2_bzCompressEnd, (bz_stream *of), (of), BZ_CONFIG_ERROR)
RETURNS(
    int, BZ2_bzDecompressInit, (bz_stream *of, int verbosity, int small), (of, verbosity, small), BZ_CONFIG_ERROR)
RETURNS(int, BZ2_bzDecompress, (bz_stream *of), (of), BZ_CONFIG_ERROR)
RETURNS(int, BZ2_bzDecompressEnd, (bz_stream *of), (of), BZ_CONFIG_ERROR)
#endif
