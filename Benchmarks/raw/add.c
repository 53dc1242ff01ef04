/* add SOURCE STORE VERSION: what a first durable `castree add` asks of the machine, and no more.
 *
 * Stands for the lower bound of "add" on one thread: the same system calls, in plain C, without an
 * index, a manifest, a lock or a check.
 *
 *   1. walk SOURCE; read every file, SHA-256 it (libcrypto, digest fetched once, context reused), write
 *      it to STORE/staging, mode 0444, close;
 *   2. one syncfs: all bytes durable;
 *   3. link every staged file to STORE/objects/ab/cdef...;
 *   4. make STORE/versions/VERSION: mkdirat and linkat by directory descriptor, directories 0555,
 *      zero-byte files created;
 *   5. a second syncfs: all names durable; then unlink the staged names.
 *
 * Prints "files objects bytes".
 */
#include "common.h"
#include <openssl/evp.h>

enum { BUFFER = 256 * 1024, DIGEST = 32, ADDRESS = 2 * DIGEST + 1 };

enum kind { ENTER, LEAVE, FILE_ENTRY };

/* One step of the walk, in the order in which the tree is made again. */
struct step {
    enum kind kind;
    uint64_t size;
    char *name;
    unsigned char digest[DIGEST];
};

static struct step *steps;
static size_t count, capacity;
static uint64_t files, objects, bytes;
static int staging, objects_directory;
static unsigned char *buffer;
static EVP_MD *sha256;
static EVP_MD_CTX *hash;

static struct step *append(enum kind kind, const char *name) {
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 1024;
        steps = must_alloc(realloc(steps, capacity * sizeof *steps));
    }
    struct step *step = &steps[count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->name = must_alloc(strdup(name));
    return step;
}

static void staged_name(size_t number, char name[24]) {
    snprintf(name, 24, "%zu", number);
}

/* "ab/cdef...": where an object of this digest stands below objects/. */
static void object_path(const unsigned char *digest, char path[ADDRESS + 1]) {
    static const char hex[] = "0123456789abcdef";
    char *out = path;
    for (int i = 0; i < DIGEST; i++) {
        *out++ = hex[digest[i] >> 4];
        *out++ = hex[digest[i] & 15];
        if (i == 0) *out++ = '/';
    }
    *out = 0;
}

static void write_all(int fd, const unsigned char *from, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd, from, length);
        if (written < 0) die("write", "a staged file");
        from += written;
        length -= (size_t)written;
    }
}

static void stage(int directory, const char *name) {
    int input = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (input < 0) die("open", name);
    size_t number = count;
    struct step *step = append(FILE_ENTRY, name);
    int output = -1;
    if (EVP_DigestInit_ex2(hash, sha256, NULL) != 1) die("hash", name);
    for (;;) {
        ssize_t length = read(input, buffer, BUFFER);
        if (length < 0) die("read", name);
        if (length == 0) break;
        if (EVP_DigestUpdate(hash, buffer, (size_t)length) != 1) die("hash", name);
        if (output < 0) {
            char staged[24];
            staged_name(number, staged);
            output = openat(staging, staged, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (output < 0) die("create", staged);
        }
        write_all(output, buffer, (size_t)length);
        step->size += (uint64_t)length;
    }
    if (EVP_DigestFinal_ex(hash, step->digest, NULL) != 1) die("hash", name);
    if (output >= 0) {
        if (fchmod(output, 0444) != 0) die("change the mode of", name);
        if (close(output) != 0) die("close", name);
    }
    close(input);
    files++;
    bytes += step->size;
}

static void walk(int directory, const char *path) {
    DIR *list = list_directory(directory, path);
    struct dirent *entry;
    while ((entry = next_entry(list, path))) {
        struct stat status;
        if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            die("look at", entry->d_name);
        if (S_ISDIR(status.st_mode)) {
            append(ENTER, entry->d_name);
            walk(open_directory(directory, entry->d_name), entry->d_name);
            append(LEAVE, entry->d_name);
        } else if (S_ISREG(status.st_mode)) {
            stage(directory, entry->d_name);
        }
    }
    closedir(list);
}

static void publish(void) {
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind != FILE_ENTRY || steps[i].size == 0) continue;
        char staged[24], path[ADDRESS + 1];
        staged_name(i, staged);
        object_path(steps[i].digest, path);
        int made = linkat(staging, staged, objects_directory, path, 0);
        if (made != 0 && errno == ENOENT) {
            path[2] = 0;
            if (mkdirat(objects_directory, path, 0755) != 0) die("create shard", path);
            path[2] = '/';
            made = linkat(staging, staged, objects_directory, path, 0);
        }
        if (made == 0) objects++;
        else if (errno != EEXIST) die("publish", path);
    }
}

static void materialize(int at, const char *version) {
    int open_directories[256], depth = 0;
    if (mkdirat(at, version, 0755) != 0) die("create", version);
    open_directories[0] = open_directory(at, version);
    for (size_t i = 0; i < count; i++) {
        int directory = open_directories[depth];
        const char *name = steps[i].name;
        switch (steps[i].kind) {
        case ENTER:
            if (depth == 255) die("descend into", name);
            if (mkdirat(directory, name, 0755) != 0) die("create", name);
            open_directories[++depth] = open_directory(directory, name);
            break;
        case LEAVE:
            if (fchmod(directory, 0555) != 0) die("change the mode of", name);
            close(directory);
            depth--;
            break;
        case FILE_ENTRY:
            if (steps[i].size == 0) {
                int empty = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
                if (empty < 0) die("create", name);
                close(empty);
            } else {
                char path[ADDRESS + 1];
                object_path(steps[i].digest, path);
                if (linkat(objects_directory, path, directory, name, 0) != 0) die("link", name);
            }
        }
    }
    if (fchmod(open_directories[0], 0555) != 0) die("change the mode of", version);
    close(open_directories[0]);
}

static void unstage(void) {
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind != FILE_ENTRY || steps[i].size == 0) continue;
        char staged[24];
        staged_name(i, staged);
        if (unlinkat(staging, staged, 0) != 0) die("unlink", staged);
    }
}

static int make_directory(int at, const char *name) {
    if (mkdirat(at, name, 0755) != 0 && errno != EEXIST) die("create", name);
    return open_directory(at, name);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) {
        fprintf(stderr, "usage: add SOURCE STORE VERSION\n");
        return 2;
    }
    buffer = must_alloc(malloc(BUFFER));
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hash = EVP_MD_CTX_new();
    if (!sha256 || !hash) die("prepare", "SHA-256");

    int store = open_directory(AT_FDCWD, arguments[2]);
    staging = make_directory(store, "staging");
    objects_directory = make_directory(store, "objects");
    int versions = make_directory(store, "versions");

    walk(open_directory(AT_FDCWD, arguments[1]), arguments[1]);
    if (syncfs(store) != 0) die("sync", arguments[2]);
    publish();
    materialize(versions, arguments[3]);
    if (syncfs(store) != 0) die("sync", arguments[2]);
    unstage();
    printf("%llu %llu %llu\n", (unsigned long long)files, (unsigned long long)objects,
           (unsigned long long)bytes);
    return 0;
}
