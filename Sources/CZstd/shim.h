// libzstd's C API, nothing else; of the part that may change between versions only the estimate of a compressor's memory.
#pragma once
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>
