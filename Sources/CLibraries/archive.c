// libarchive (archive_read(3)): what ArchiveReading calls.
#include "loading.h"

LIBRARY(archive, "libarchive.so.13")

#ifndef __APPLE__
#include <archive.h>
#include <archive_entry.h>

RETURNS(struct archive *, archive_read_new, (void), (), 0)
RETURNS(int, archive_read_free, (struct archive *of), (of), ARCHIVE_FATAL)
RETURNS(int, archive_read_support_format_tar, (struct archive *of), (of), ARCHIVE_FATAL)
RETURNS(int, archive_read_support_format_zip_seekable, (struct archive *of), (of), ARCHIVE_FATAL)
RETURNS(
    int, archive_read_set_format_option,
    (struct archive *of, const char *format, const char *option, const char *value), (of, format, option, value),
    ARCHIVE_FATAL)
RETURNS(
    int, archive_read_open_filename, (struct archive *of, const char *path, size_t blockSize), (of, path, blockSize),
    ARCHIVE_FATAL)
RETURNS(
    int, archive_read_open2,
    (struct archive *of, void *client, archive_open_callback *open, archive_read_callback *read,
     archive_skip_callback *skip, archive_close_callback *close),
    (of, client, open, read, skip, close), ARCHIVE_FATAL)
RETURNS(
    int, archive_read_next_header, (struct archive *of, struct archive_entry **entry), (of, entry), ARCHIVE_FATAL)
RETURNS(
    int, archive_read_data_block, (struct archive *of, const void **block, size_t *count, la_int64_t *offset),
    (of, block, count, offset), ARCHIVE_FATAL)
RETURNS(la_ssize_t, archive_read_data, (struct archive *of, void *bytes, size_t count), (of, bytes, count), -1)
RETURNS(int, archive_read_data_skip, (struct archive *of), (of), ARCHIVE_FATAL)
RETURNS(const char *, archive_error_string, (struct archive *of), (of), 0)
RETURNS(la_int64_t, archive_filter_bytes, (struct archive *of, int filter), (of, filter), 0)

RETURNS(const char *, archive_entry_pathname_utf8, (struct archive_entry *entry), (entry), 0)
RETURNS(const char *, archive_entry_hardlink, (struct archive_entry *entry), (entry), 0)
RETURNS(const char *, archive_entry_hardlink_utf8, (struct archive_entry *entry), (entry), 0)
RETURNS(__LA_MODE_T, archive_entry_filetype, (struct archive_entry *entry), (entry), 0)
RETURNS(__LA_MODE_T, archive_entry_perm, (struct archive_entry *entry), (entry), 0)
RETURNS(la_int64_t, archive_entry_size, (struct archive_entry *entry), (entry), 0)
RETURNS(int, archive_entry_size_is_set, (struct archive_entry *entry), (entry), 0)
RETURNS(int, archive_entry_sparse_count, (struct archive_entry *entry), (entry), 0)
#endif
