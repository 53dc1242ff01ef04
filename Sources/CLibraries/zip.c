// libzip (libzip(3)): what ArchiveReading calls.
#include "loading.h"

LIBRARY(zip, "libzip.so.5", "libzip.so.4")

#ifndef __APPLE__
#include <zip.h>

RETURNS(zip_t *, zip_open, (const char *path, int flags, int *error), (path, flags, error), 0)
ENDS(zip_discard, (zip_t *of), (of))
RETURNS(zip_int64_t, zip_get_num_entries, (zip_t *of, zip_flags_t flags), (of, flags), 0)
RETURNS(
    const char *, zip_get_archive_comment, (zip_t *of, int *count, zip_flags_t flags), (of, count, flags), 0)
RETURNS(int, zip_compression_method_supported, (zip_int32_t method, int compress), (method, compress), 0)
RETURNS(zip_file_t *, zip_fopen_index, (zip_t *of, zip_uint64_t index, zip_flags_t flags), (of, index, flags), 0)
RETURNS(zip_int64_t, zip_fread, (zip_file_t *of, void *bytes, zip_uint64_t count), (of, bytes, count), -1)
RETURNS(int, zip_fclose, (zip_file_t *of), (of), 0)
ENDS(zip_error_init_with_code, (zip_error_t *error, int code), (error, code))
ENDS(zip_error_fini, (zip_error_t *error), (error))
RETURNS(const char *, zip_error_strerror, (zip_error_t *error), (error), "no libzip")
RETURNS(const char *, zip_strerror, (zip_t *of), (of), "no libzip")
RETURNS(const char *, zip_file_strerror, (zip_file_t *of), (of), "no libzip")
#endif
