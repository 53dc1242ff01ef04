/* gc STORE: deletes the objects that no version names, as `castree gc` does after a `retire`.
 *
 * Makes the statements, the deletions and the syncs of ours, in the same order, on the same index and objects: the
 * manifests are looked at three times; one transaction announces the deletion, a second one adds up the counts around
 * the garbage, deletes file by file and forgets the rows. The stamp is written as ours writes it, so the store is sound
 * afterwards. What ours does besides: locks, leases, claims, quarantine, leftovers of others, an event.
 *
 * For at most 2,048 objects, a writer alone, and an index that agrees with its stamp. Prints how many were deleted.
 */
#include "common.h"
#include <sqlite3.h>
#include <xxhash.h>

enum { BATCH = 2048, STAMP = 256, BLOCK = 64 };

static const char *store;
static int root, objects, manifests;
static sqlite3 *db;
static char epoch[64];
static long long generation;

static struct garbage {
    long long id;
    char path[66]; /* "ab/cdef..." */
} found[BATCH];
static int count;

static _Noreturn void bad(const char *what) {
    fprintf(stderr, "%s: %s: %s\n", store, what, db ? sqlite3_errmsg(db) : "not as castree leaves it");
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) bad(sql);
}

static sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) bad(sql);
    return statement;
}

static int step(sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) bad("step");
    return result == SQLITE_ROW;
}

/* Executes a statement with one number. */
static void with(sqlite3_stmt *statement, long long number) {
    sqlite3_bind_int64(statement, 1, number);
    step(statement);
    sqlite3_reset(statement);
}

/* The stamp. */

static void sum_of(const char *line, size_t length, char *hex) {
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(line, length));
    for (size_t i = 0; i < sizeof sum.digest; i++) sprintf(hex + 2 * i, "%02x", sum.digest[i]);
}

static void read_stamp(void) {
    char bytes[STAMP + 1] = {0}, hex[33];
    int file = openat(root, "stamp", O_RDONLY | O_CLOEXEC);
    if (file < 0 || pread(file, bytes, STAMP, 0) != STAMP) die("read", "stamp");
    close(file);
    long long settled, pending;
    if (sscanf(bytes, "castree-stamp 1 %63s %lld %lld", epoch, &settled, &pending) != 3 || settled != pending)
        bad("stamp");
    char *end = strchr(bytes, '\n');
    sum_of(bytes, (size_t)(end + 1 - bytes), hex);
    if (memcmp(end + 1, hex, 32) != 0) bad("stamp");
    generation = settled;
}

static void write_stamp(long long settled, long long pending, int durably) {
    struct stat index;
    if (fstatat(root, "index.sqlite", &index, AT_SYMLINK_NOFOLLOW)) die("look at", "index.sqlite");
    char bytes[STAMP];
    memset(bytes, '\n', sizeof bytes);
    int length = snprintf(bytes, sizeof bytes, "castree-stamp 1 %s %lld %lld %lld %lld\n", epoch, settled, pending,
                          (long long)index.st_size,
                          (long long)index.st_ctim.tv_sec * 1000000000 + index.st_ctim.tv_nsec);
    char hex[33];
    sum_of(bytes, (size_t)length, hex);
    memcpy(bytes + length, hex, 32);
    bytes[length + 32] = '\n';
    int file = openat(root, "stamp", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0 || write(file, bytes, sizeof bytes) != sizeof bytes) die("write", "stamp");
    if (durably && fsync(file)) die("sync", "stamp");
    close(file);
}

/* A transaction, from its announcement to its end. */

static void begin(void) {
    run("BEGIN IMMEDIATE");
    generation++;
    write_stamp(generation - 1, generation, 1);
}

static void commit(int with_all) {
    sqlite3_stmt *update = prepared("UPDATE meta SET value = ? WHERE key = 'generation'");
    with(update, generation);
    sqlite3_finalize(update);
    run("COMMIT");
    sqlite3_file *file;
    if (with_all) {
        if (syncfs(root)) die("sync", store);
    } else {
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
        if (file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK) bad("sync");
    }
    write_stamp(generation, generation, 0);
}

static void look_at_manifests(void) {
    DIR *list = list_directory(open_directory(manifests, "."), "manifests");
    struct dirent *entry;
    struct stat status;
    while ((entry = next_entry(list, "manifests")))
        if (fstatat(manifests, entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) die("look at", entry->d_name);
    closedir(list);
}

static void announce(void) {
    begin();
    look_at_manifests();
    run("PRAGMA cache_size = -2048");
    sqlite3_stmt *garbage = prepared(
        "SELECT id, address, bytes, fingerprint, state, refs FROM object "
        "WHERE refs = 0 AND id > 0 ORDER BY id LIMIT 2048");
    for (count = 0; step(garbage); count++) {
        if (count == BATCH || sqlite3_column_bytes(garbage, 1) != 32) bad("garbage");
        const unsigned char *address = sqlite3_column_blob(garbage, 1);
        found[count].id = sqlite3_column_int64(garbage, 0);
        char *path = found[count].path;
        for (int i = 0; i < 32; i++) path += sprintf(path, i == 0 ? "%02x/" : "%02x", address[i]);
    }
    sqlite3_finalize(garbage);
    sqlite3_stmt *dying = prepared("UPDATE object SET state = 2 WHERE id = ? AND refs = 0 AND state = 1");
    for (int i = 0; i < count; i++) with(dying, found[i].id);
    sqlite3_finalize(dying);
    commit(0);
}

/* What the counts around the garbage come to; ours compares it with the block's sum. */
static long long add_up(void) {
    sqlite3_stmt *counts = prepared("SELECT id, refs FROM object WHERE id BETWEEN ? AND ?");
    sqlite3_stmt *sums = prepared("SELECT sum FROM tally WHERE block = ?");
    long long last = -1, all = 0;
    for (int i = 0; i < count; i++) {
        long long block = found[i].id / BLOCK;
        if (block == last) continue;
        last = block;
        sqlite3_bind_int64(counts, 1, block * BLOCK);
        sqlite3_bind_int64(counts, 2, block * BLOCK + BLOCK - 1);
        while (step(counts)) all += sqlite3_column_int64(counts, 0) * sqlite3_column_int64(counts, 1);
        sqlite3_reset(counts);
        sqlite3_bind_int64(sums, 1, block);
        if (step(sums)) all ^= sqlite3_column_int64(sums, 0);
        sqlite3_reset(sums);
    }
    sqlite3_finalize(counts);
    sqlite3_finalize(sums);
    return all;
}

static void delete(void) {
    begin();
    sqlite3_stmt *doomed = prepared(
        "SELECT id, address, bytes, fingerprint, state, refs FROM object "
        "WHERE refs = 0 AND state <> 1 AND id > 0 AND id <= ? ORDER BY id");
    sqlite3_bind_int64(doomed, 1, found[count - 1].id);
    int again = 0;
    while (step(doomed)) again++;
    sqlite3_finalize(doomed);
    if (again != count) bad("doomed");
    add_up();
    char copy[70];
    for (int i = 0; i < count; i++) {
        if (unlinkat(objects, found[i].path, 0)) die("delete", found[i].path);
        snprintf(copy, sizeof copy, "%s.x", found[i].path);
        if (unlinkat(objects, copy, 0) && errno != ENOENT) die("delete", copy);
    }
    sqlite3_stmt *largest = prepared(
        "INSERT INTO meta VALUES ('last_object', ?1) ON CONFLICT (key) DO UPDATE SET value = max(value, ?1)");
    with(largest, found[count - 1].id);
    sqlite3_finalize(largest);
    sqlite3_stmt *forget = prepared("DELETE FROM object WHERE id = ? AND refs = 0");
    for (int i = 0; i < count; i++) with(forget, found[i].id);
    sqlite3_finalize(forget);
    sqlite3_stmt *rest = prepared("SELECT 1 FROM object WHERE refs = 0 LIMIT 1");
    if (step(rest)) bad("more garbage");
    sqlite3_finalize(rest);
    run("DELETE FROM retired");
    run("PRAGMA cache_size = -384");
    commit(1);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: gc STORE\n");
        return 2;
    }
    store = arguments[1];
    root = open_directory(AT_FDCWD, store);
    objects = open_directory(root, "objects");
    manifests = open_directory(root, "manifests");
    read_stamp();
    look_at_manifests();
    char path[4096];
    snprintf(path, sizeof path, "%s/index.sqlite", store);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) bad("open");
    run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -384; "
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    look_at_manifests();
    announce();
    if (count > 0) delete();
    sqlite3_close(db);
    printf("%d\n", count);
    return 0;
}
