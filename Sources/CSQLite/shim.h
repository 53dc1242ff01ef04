// SQLite's C API, and the macros that Swift cannot import (casts).
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

// EDQUOT or EFBIG if the last error was that, which SQLite does not take for a full disk (os_unix.c, unixWrite), else 0: a
// statement's by sqlite.org/c3ref/system_errno.html, a COMMIT's by the database file.
static inline int castree_sqlite_limit_errno(sqlite3 *database, int code) {
    int number = 0, kind = code & 0xff;
    if (!database || (kind != SQLITE_IOERR && kind != SQLITE_CANTOPEN)) return 0;
    if (kind == SQLITE_IOERR)
        sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    if (number != EDQUOT && number != EFBIG) number = sqlite3_system_errno(database);
    return number == EDQUOT || number == EFBIG ? number : 0;
}

static inline int castree_sqlite_fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int result;
    do result = fcntl(file, command, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

// SQLite tries its reads and writes again after a signal, not its locks, which a network's file system may interrupt
// (fcntl(2), EINTR; sqlite.org/c3ref/vfs.html, xSetSystemCall).
static inline int castree_sqlite_retry_locks(void) {
    sqlite3_vfs *usual = sqlite3_vfs_find(0);
    if (!usual || usual->iVersion < 3 || !usual->xSetSystemCall) return 0;
    return usual->xSetSystemCall(usual, "fcntl", (sqlite3_syscall_ptr)castree_sqlite_fcntl) == SQLITE_OK;
}

#define castree_sqlite_vfs_name "castree"

// The name as it is: SQLite's own function follows /proc/self/fd/N to the path, which is too long for it.
static inline int castree_sqlite_same_path(sqlite3_vfs *vfs, const char *name, int count, char *out) {
    (void)vfs;
    sqlite3_snprintf(count, out, "%s", name);
    return SQLITE_OK;
}

// Registers SQLite's usual file layer under another name, for paths through an open directory; 0 if there are none such here.
static inline int castree_sqlite_by_descriptor(void) {
#ifdef __linux__
    static sqlite3_vfs vfs;
    sqlite3_vfs *usual = sqlite3_vfs_find(0);
    if (!usual) return 0;
    sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MAIN);
    sqlite3_mutex_enter(mutex);
    int is_made = vfs.zName != 0;
    if (!is_made) {
        vfs = *usual;
        vfs.pNext = 0;
        vfs.zName = castree_sqlite_vfs_name;
        vfs.xFullPathname = castree_sqlite_same_path;
    }
    sqlite3_mutex_leave(mutex);
    return is_made || sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
#else
    return 0;
#endif
}
