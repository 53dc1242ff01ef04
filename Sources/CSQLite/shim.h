// SQLite's C API, and the macros that Swift cannot import (casts).
#pragma once
#include <sqlite3.h>

// sqlite3_bind_*: the bytes outlive the statement's step, so SQLite need not copy them.
static inline sqlite3_destructor_type castree_sqlite_static(void) { return SQLITE_STATIC; }
// sqlite3_bind_*: SQLite copies the bytes before the call returns.
static inline sqlite3_destructor_type castree_sqlite_transient(void) { return SQLITE_TRANSIENT; }
