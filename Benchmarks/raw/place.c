/* place STORE COUNT BYTES: the least that any store asks of the machine to keep COUNT new files of BYTES.
 *
 * On two threads: make each file under its own name below STORE/objects/ab, write it, close it, and link it
 * into a directory of STORE/tree. Then one syncfs. Nothing is fetched, decoded, hashed, checked or noted anywhere, and
 * a power cut leaves files that are half there under names that promise whole ones: castree cannot do with
 * so little, and no client with less.
 *
 * Prints "files".
 */
#include "common.h"
#include <pthread.h>

enum { THREADS = 2, PER_DIRECTORY = 100, SHARDS = 256 };

static int objects, tree;
static long count;
static size_t length;
static char *content;

/* Sixteen digits that spread over the shards as addresses do. */
static void name_of(long number, char name[32]) {
    uint64_t mixed = ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;
    snprintf(name, 32, "%02x/%014llx", (unsigned)(mixed >> 56), (unsigned long long)(mixed & 0xffffffffffffffu));
}

static void place(long number) {
    char object[32], path[64];
    name_of(number, object);
    snprintf(path, sizeof path, "%03ld/asset-%05ld.js", number / PER_DIRECTORY, number);
    int file = openat(objects, object, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (file < 0) die("create", object);
    if (write(file, content, length) != (ssize_t)length) die("write", object);
    if (close(file) != 0) die("close", object);
    if (linkat(objects, object, tree, path, 0) != 0) die("link", path);
}

static void *work(void *part) {
    long index = (long)(intptr_t)part;
    for (long number = count * index / THREADS; number < count * (index + 1) / THREADS; number++) place(number);
    return NULL;
}

static int make_directory(int at, const char *name) {
    if (mkdirat(at, name, 0755) != 0) die("create", name);
    return open_directory(at, name);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) {
        fprintf(stderr, "usage: place STORE COUNT BYTES\n");
        return 2;
    }
    count = atol(arguments[2]);
    length = (size_t)atol(arguments[3]);
    content = must_alloc(malloc(length));
    memset(content, 'x', length);
    int store = open_directory(AT_FDCWD, arguments[1]);
    objects = make_directory(store, "objects");
    tree = make_directory(store, "tree");
    char name[24];
    for (int shard = 0; shard < SHARDS; shard++) {
        snprintf(name, sizeof name, "%02x", (unsigned)shard);
        if (mkdirat(objects, name, 0755) != 0) die("create", name);
    }
    for (long directory = 0; directory * PER_DIRECTORY < count; directory++) {
        snprintf(name, sizeof name, "%03ld", directory);
        if (mkdirat(tree, name, 0755) != 0) die("create", name);
    }
    pthread_t threads[THREADS];
    for (intptr_t part = 0; part < THREADS; part++)
        if ((errno = pthread_create(&threads[part], NULL, work, (void *)part)) != 0) die("begin", "a thread");
    for (int part = 0; part < THREADS; part++)
        if ((errno = pthread_join(threads[part], NULL)) != 0) die("wait for", "a thread");
    if (syncfs(store) != 0) die("sync", arguments[1]);
    printf("%ld\n", count);
    return 0;
}
