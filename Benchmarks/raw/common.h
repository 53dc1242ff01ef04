/* Shared by the raw programs: fail loudly, count what was done. */
#ifndef RAW_COMMON_H
#define RAW_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends the program with the reason: a raw program that skipped work would be an unfair peer. */
static inline _Noreturn void die(const char *what, const char *on) {
    fprintf(stderr, "%s: %s: %s\n", what, on, strerror(errno));
    exit(1);
}

static inline void *must_alloc(void *pointer) {
    if (!pointer) die("allocate", "memory");
    return pointer;
}

static inline int is_dot(const char *name) {
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

static inline int open_directory(int at, const char *path) {
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) die("open directory", path);
    return fd;
}

static inline DIR *list_directory(int fd, const char *path) {
    DIR *list = fdopendir(fd);
    if (!list) die("list directory", path);
    return list;
}

/* The next name, or NULL at the end; an error is not an end. */
static inline struct dirent *next_entry(DIR *list, const char *path) {
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(list);
        if (!entry && errno) die("list directory", path);
        if (!entry || !is_dot(entry->d_name)) return entry;
    }
}

#endif
