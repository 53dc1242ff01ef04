// SQLite's C API, and the macros that Swift cannot import (casts).
#pragma once
#include <errno.h>
#include <sqlite3.h>

// sqlite3_bind_*: the bytes outlive the statement's step, so SQLite need not copy them.
static inline sqlite3_destructor_type castree_sqlite_static(void) { return SQLITE_STATIC; }
// sqlite3_bind_*: SQLite copies the bytes before the call returns.
static inline sqlite3_destructor_type castree_sqlite_transient(void) { return SQLITE_TRANSIENT; }
// The extended result code of a sync that failed.
static inline int castree_sqlite_ioerr_fsync(void) { return SQLITE_IOERR_FSYNC; }

// Makes the database file durable through SQLite's own descriptor: to open and close the file once more
// would drop the process's locks on it (sqlite.org/lockingv3.html, fcntl(2)).
static inline int castree_sqlite_sync(sqlite3 *database) {
    sqlite3_file *file = 0;
    int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result != SQLITE_OK || !file || !file->pMethods) return result;
    int number = 0;
    // SQLite tries its reads and writes again after a signal, not its syncs.
    do result = file->pMethods->xSync(file, SQLITE_SYNC_FULL);
    while (result == SQLITE_IOERR_FSYNC
           && sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK
           && number == EINTR);
    return result;
}
