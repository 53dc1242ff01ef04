#include "arguments.h"
#ifdef __linux__
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Declared by the C library for _GNU_SOURCE only.
extern ssize_t process_vm_readv(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                                unsigned long, unsigned long);

bool read_memory(int process, uint64_t address, void *bytes, size_t count) {
    struct iovec here = {bytes, count}, there = {(void *)(uintptr_t)address, count};
    return process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)count;
}

static bool read_text(int process, uint64_t address, char *text, size_t space) {
    size_t length = 0;
    while (length + 1 < space) {
        // Page by page: the next page may not be there.
        size_t count = 4096 - ((address + length) & 4095);
        if (count > space - 1 - length) count = space - 1 - length;
        if (!read_memory(process, address + length, text + length, count)) return false;
        if (memchr(text + length, 0, count)) return true;
        length += count;
    }
    return false;
}

static void path_of_descriptor(int process, int descriptor, char path[PATH_SPACE]) {
    char link[64];
    if (descriptor == AT_FDCWD) snprintf(link, sizeof link, "/proc/%d/cwd", process);
    else snprintf(link, sizeof link, "/proc/%d/fd/%d", process, descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    // A file without a name is called by its last one.
    char *mark = strstr(path, " (deleted)");
    if (mark && !mark[10]) *mark = 0;
}

// Takes away "." and "..", as they are written: names that a test uses lead through no symbolic link.
static void straighten(char path[PATH_SPACE]) {
    char copy[PATH_SPACE], *rest = NULL, *end = path;
    snprintf(copy, sizeof copy, "%s", path);
    *end = 0;
    for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
        if (!strcmp(name, ".")) continue;
        if (!strcmp(name, "..")) {
            while (end > path && *--end != '/') {}
            *end = 0;
        } else {
            end += snprintf(end, (size_t)(path + PATH_SPACE - end), "/%s", name);
        }
    }
    if (end == path) strcpy(path, "/");
}

static void path_of_argument(int process, int directory, uint64_t address, char path[PATH_SPACE]) {
    char text[PATH_MAX], base[PATH_SPACE] = "";
    path[0] = 0;
    if (!read_text(process, address, text, sizeof text)) return;
    if (text[0] != '/') path_of_descriptor(process, directory, base);
    snprintf(path, PATH_SPACE, "%.*s/%s", PATH_MAX - 1, base, text);
    straighten(path);
}

void paths_of(const struct call *call, const struct seccomp_data *made, int process,
              char first[PATH_SPACE], char second[PATH_SPACE]) {
    first[0] = second[0] = 0;
    if (call->descriptor >= 0)
        path_of_descriptor(process, (int)made->args[call->descriptor], first);
    if (call->path >= 0) {
        int directory = call->directory < 0 ? AT_FDCWD : (int)made->args[call->directory];
        path_of_argument(process, directory, made->args[call->path], first);
    }
    if (call->other_path >= 0) {
        int directory = call->other_directory < 0 ? AT_FDCWD : (int)made->args[call->other_directory];
        path_of_argument(process, directory, made->args[call->other_path], second);
    }
}

bool is_below(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && (path[length] == 0 || path[length] == '/');
}
#endif
