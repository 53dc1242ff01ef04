/* fsck OBJECTS: reads every file of OBJECTS/ab/ and computes its XXH3-128, on two threads.
 *
 * Stands for the lower bound of `castree fsck` with fingerprints: list the shards, open, read, hash;
 * two threads that take runs of objects from an atomic counter. Nothing is compared, no index is read,
 * no tree is looked at.
 *
 * Prints "objects bytes digest" (the digest so that no compiler leaves the hashing out).
 */
#include "common.h"
#include <pthread.h>
#include <stdatomic.h>
#include <xxhash.h>

enum { BUFFER = 256 * 1024, THREADS = 2, RUN = 16 };

static char **paths; /* "ab/cdef...", relative to the objects directory */
static size_t count, capacity;
static int objects_directory;
static atomic_size_t next_path;

struct share {
    pthread_t thread;
    uint64_t bytes, digest;
};

static void list_shards(const char *path) {
    DIR *shards = list_directory(open_directory(AT_FDCWD, path), path);
    struct dirent *shard;
    while ((shard = next_entry(shards, path))) {
        DIR *names = list_directory(open_directory(objects_directory, shard->d_name), shard->d_name);
        struct dirent *name;
        while ((name = next_entry(names, shard->d_name))) {
            if (count == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                paths = must_alloc(realloc(paths, capacity * sizeof *paths));
            }
            size_t length = strlen(shard->d_name) + 1 + strlen(name->d_name) + 1;
            paths[count] = must_alloc(malloc(length));
            snprintf(paths[count++], length, "%s/%s", shard->d_name, name->d_name);
        }
        closedir(names);
    }
    closedir(shards);
}

static void check(struct share *share, const char *path, unsigned char *buffer, XXH3_state_t *state) {
    int fd = openat(objects_directory, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) die("open", path);
    XXH3_128bits_reset(state);
    for (;;) {
        ssize_t length = read(fd, buffer, BUFFER);
        if (length < 0) die("read", path);
        if (length == 0) break;
        XXH3_128bits_update(state, buffer, (size_t)length);
        share->bytes += (uint64_t)length;
    }
    close(fd);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    share->digest ^= hash.low64 ^ hash.high64;
}

static void *work(void *argument) {
    struct share *share = argument;
    unsigned char *buffer = must_alloc(malloc(BUFFER));
    XXH3_state_t *state = must_alloc(XXH3_createState());
    for (;;) {
        size_t first = atomic_fetch_add(&next_path, RUN);
        if (first >= count) break;
        size_t end = first + RUN < count ? first + RUN : count;
        for (size_t i = first; i < end; i++) check(share, paths[i], buffer, state);
    }
    return NULL;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: fsck OBJECTS\n");
        return 2;
    }
    objects_directory = open_directory(AT_FDCWD, arguments[1]);
    list_shards(arguments[1]);
    struct share shares[THREADS] = {0};
    uint64_t bytes = 0, digest = 0;
    for (int i = 0; i < THREADS; i++)
        if ((errno = pthread_create(&shares[i].thread, NULL, work, &shares[i]))) die("start", "a thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(shares[i].thread, NULL);
        bytes += shares[i].bytes;
        digest ^= shares[i].digest;
    }
    printf("%zu %llu %016llx\n", count, (unsigned long long)bytes, (unsigned long long)digest);
    return 0;
}
