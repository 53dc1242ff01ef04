// Counts what a program asks of the kernel, by kind, in a file that others can read meanwhile.
//
// Loaded into the program by LD_PRELOAD. It stands before the C library's functions of these names, counts
// the call and passes it on unchanged. What the C library calls within itself is not seen; neither is the
// loading of the program, so that the numbers are those of the program alone and the same everywhere.
//
//     CASTREE_COUNTS         the file: COUNTED_KINDS numbers of 64 bits, see kinds.h; made by whoever asks
//     CASTREE_UNREADABLE     the number of an inode (decimal): what is read from it ends with EIO, as of a bad sector
//     CASTREE_HANGING        how paths begin that hang when they are opened: the thread says "hangs" on standard error,
//                            and takes no signal from then on, as on a mount whose server is gone
//     CASTREE_HUNG_SECONDS   as many seconds have passed for the program, whatever its wall clock says, once a thread hangs
//     CASTREE_PROCESSORS     as many processors it finds: how the work is spread must not depend on the machine
//     CASTREE_CLOCK_AHEAD    seconds by which the program's wall clock is ahead: files that were written a moment
//                            ago are then old enough to be trusted by their time stamps, without waiting
//     CASTREE_CLOCK_FILE     the same, as a number of 64 bits in a file that others change meanwhile: a clock that is set
#define _GNU_SOURCE
#include "kinds.h"

#ifdef __linux__
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t unread[COUNTED_KINDS];
static _Atomic uint64_t *counts = unread;
static long ahead, processors;
static unsigned long unreadable;
static const char *hanging;
static long hung_seconds;
static _Atomic long passed;
static const volatile int64_t *stepped;

// The function that would have been called.
#define NEXT(name)                                                                                             \
    static __typeof__(&name) next;                                                                             \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void count(enum counted_kind kind) {
    atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed);
}

__attribute__((constructor)) static void attach(void) {
    const char *seconds = getenv("CASTREE_CLOCK_AHEAD");
    if (seconds) ahead = atol(seconds);
    const char *clock = getenv("CASTREE_CLOCK_FILE");
    if (clock) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, clock, O_RDONLY | O_CLOEXEC);
        void *step = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *stepped, PROT_READ, MAP_SHARED, file, 0);
        if (step == MAP_FAILED) {
            perror(clock);
            _exit(125);
        }
        close(file);
        stepped = step;
    }
    const char *inode = getenv("CASTREE_UNREADABLE");
    if (inode) unreadable = strtoul(inode, NULL, 10);
    hanging = getenv("CASTREE_HANGING");
    const char *hung = getenv("CASTREE_HUNG_SECONDS");
    if (hung) hung_seconds = atol(hung);
    const char *number = getenv("CASTREE_PROCESSORS");
    if (number) processors = atol(number);
    const char *path = getenv("CASTREE_COUNTS");
    if (!path) return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *shared = MAP_FAILED;
    if (file >= 0)
        shared = mmap(NULL, sizeof unread, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        // Numbers that nobody reads would look like a program that does nothing.
        perror(path);
        _exit(125);
    }
    close(file);
    counts = shared;
}

// By what is behind the descriptor: a file, a socket, or something that nobody waits for.
static void count_transfer(int file, enum counted_kind of_file, enum counted_kind of_socket) {
    struct stat status;
    NEXT(fstat);
    if (next(file, &status) != 0) return;
    if (S_ISREG(status.st_mode)) count(of_file);
    if (S_ISSOCK(status.st_mode)) count(of_socket);
}

// Whether the disk says that it cannot read what is behind the descriptor.
static int is_bad(int file) {
    struct stat status;
    NEXT(fstat);
    if (!unreadable || next(file, &status) != 0 || status.st_ino != unreadable) return 0;
    errno = EIO;
    return 1;
}

static void hang(const char *path) {
    if (!hanging || strncmp(path, hanging, strlen(hanging)) != 0) return;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    passed = hung_seconds;
    syscall(SYS_write, 2, "hangs\n", 6);
    for (;;) pause();
}

// A function with a fixed list of arguments that is one kind, and its twin for large files.
#define COUNTED(kind, result, name, parameters, arguments)                                                     \
    result name parameters {                                                                                   \
        NEXT(name);                                                                                            \
        count(kind);                                                                                           \
        return next arguments;                                                                                 \
    }
#define READING(kind, name, parameters, arguments)                                                             \
    ssize_t name parameters {                                                                                  \
        NEXT(name);                                                                                            \
        count(kind);                                                                                           \
        return is_bad(file) ? -1 : next arguments;                                                             \
    }
#define TRANSFERRED(of_file, of_socket, name, parameters, arguments)                                           \
    ssize_t name parameters {                                                                                  \
        NEXT(name);                                                                                            \
        count_transfer(file, of_file, of_socket);                                                              \
        return of_file == COUNTED_READ && is_bad(file) ? -1 : next arguments;                                  \
    }

// The mode is there only if a file may be made.
#define MODE(flags)                                                                                            \
    mode_t mode = 0;                                                                                           \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                       \
        va_list rest;                                                                                          \
        va_start(rest, flags);                                                                                 \
        mode = va_arg(rest, mode_t);                                                                           \
        va_end(rest);                                                                                          \
    }                                                                                                          \
    count(COUNTED_OPEN)

int open(const char *path, int flags, ...) {
    NEXT(open);
    MODE(flags);
    return next(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    NEXT(open64);
    MODE(flags);
    return next(path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    hang(path);
    NEXT(openat);
    MODE(flags);
    return next(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    hang(path);
    NEXT(openat64);
    MODE(flags);
    return next(directory, path, flags, mode);
}
COUNTED(COUNTED_OPEN, FILE *, fopen, (const char *path, const char *mode), (path, mode))
COUNTED(COUNTED_OPEN, FILE *, fopen64, (const char *path, const char *mode), (path, mode))
COUNTED(COUNTED_OPEN, DIR *, opendir, (const char *path), (path))

COUNTED(COUNTED_STAT, int, stat, (const char *path, struct stat *status), (path, status))
COUNTED(COUNTED_STAT, int, stat64, (const char *path, struct stat64 *status), (path, status))
COUNTED(COUNTED_STAT, int, lstat, (const char *path, struct stat *status), (path, status))
COUNTED(COUNTED_STAT, int, lstat64, (const char *path, struct stat64 *status), (path, status))
COUNTED(COUNTED_STAT, int, fstat, (int file, struct stat *status), (file, status))
COUNTED(COUNTED_STAT, int, fstat64, (int file, struct stat64 *status), (file, status))
COUNTED(COUNTED_STAT, int, fstatat, (int directory, const char *path, struct stat *status, int flags),
        (directory, path, status, flags))
COUNTED(COUNTED_STAT, int, fstatat64, (int directory, const char *path, struct stat64 *status, int flags),
        (directory, path, status, flags))
COUNTED(COUNTED_STAT, int, statx,
        (int directory, const char *path, int flags, unsigned mask, struct statx *status),
        (directory, path, flags, mask, status))
COUNTED(COUNTED_STAT, int, access, (const char *path, int mode), (path, mode))
COUNTED(COUNTED_STAT, int, faccessat, (int directory, const char *path, int mode, int flags),
        (directory, path, mode, flags))
COUNTED(COUNTED_STAT, ssize_t, readlink, (const char *path, char *target, size_t size), (path, target, size))
ssize_t readlinkat(int directory, const char *path, char *target, size_t size) {
    hang(path);
    NEXT(readlinkat);
    count(COUNTED_STAT);
    return next(directory, path, target, size);
}

TRANSFERRED(COUNTED_READ, COUNTED_RECEIVE, read, (int file, void *bytes, size_t size), (file, bytes, size))
TRANSFERRED(COUNTED_READ, COUNTED_RECEIVE, readv, (int file, const struct iovec *parts, int size),
            (file, parts, size))
READING(COUNTED_READ, pread, (int file, void *bytes, size_t size, off_t at), (file, bytes, size, at))
READING(COUNTED_READ, pread64, (int file, void *bytes, size_t size, off64_t at), (file, bytes, size, at))
TRANSFERRED(COUNTED_WRITE, COUNTED_SEND, write, (int file, const void *bytes, size_t size),
            (file, bytes, size))
TRANSFERRED(COUNTED_WRITE, COUNTED_SEND, writev, (int file, const struct iovec *parts, int size),
            (file, parts, size))
COUNTED(COUNTED_WRITE, ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at),
        (file, bytes, size, at))
COUNTED(COUNTED_WRITE, ssize_t, pwrite64, (int file, const void *bytes, size_t size, off64_t at),
        (file, bytes, size, at))
COUNTED(COUNTED_WRITE, int, ftruncate, (int file, off_t size), (file, size))
COUNTED(COUNTED_WRITE, int, ftruncate64, (int file, off64_t size), (file, size))
COUNTED(COUNTED_WRITE, int, posix_fallocate, (int file, off_t at, off_t size), (file, at, size))
COUNTED(COUNTED_WRITE, int, posix_fallocate64, (int file, off64_t at, off64_t size), (file, at, size))
COUNTED(COUNTED_WRITE, ssize_t, copy_file_range,
        (int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags),
        (from, from_at, to, to_at, size, flags))

COUNTED(COUNTED_LINK, int, link, (const char *old, const char *name), (old, name))
COUNTED(COUNTED_LINK, int, linkat, (int from, const char *old, int to, const char *name, int flags),
        (from, old, to, name, flags))
COUNTED(COUNTED_LINK, int, symlink, (const char *target, const char *name), (target, name))
COUNTED(COUNTED_LINK, int, symlinkat, (const char *target, int directory, const char *name),
        (target, directory, name))
COUNTED(COUNTED_RENAME, int, rename, (const char *old, const char *name), (old, name))
COUNTED(COUNTED_RENAME, int, renameat, (int from, const char *old, int to, const char *name),
        (from, old, to, name))
COUNTED(COUNTED_RENAME, int, renameat2,
        (int from, const char *old, int to, const char *name, unsigned flags), (from, old, to, name, flags))
COUNTED(COUNTED_REMOVE, int, unlink, (const char *path), (path))
COUNTED(COUNTED_REMOVE, int, unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
COUNTED(COUNTED_REMOVE, int, rmdir, (const char *path), (path))
COUNTED(COUNTED_DIRECTORY, int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(COUNTED_DIRECTORY, int, mkdirat, (int directory, const char *path, mode_t mode),
        (directory, path, mode))

COUNTED(COUNTED_SYNC, int, fsync, (int file), (file))
COUNTED(COUNTED_SYNC, int, fdatasync, (int file), (file))
COUNTED(COUNTED_SYNC, int, syncfs, (int file), (file))
COUNTED(COUNTED_SYNC, int, msync, (void *start, size_t size, int flags), (start, size, flags))

COUNTED(COUNTED_CONNECT, int, connect, (int file, const struct sockaddr *address, socklen_t size),
        (file, address, size))
COUNTED(COUNTED_RECEIVE, ssize_t, recv, (int file, void *bytes, size_t size, int flags),
        (file, bytes, size, flags))
COUNTED(COUNTED_RECEIVE, ssize_t, recvfrom,
        (int file, void *bytes, size_t size, int flags, struct sockaddr *address, socklen_t *length),
        (file, bytes, size, flags, address, length))
COUNTED(COUNTED_RECEIVE, ssize_t, recvmsg, (int file, struct msghdr *message, int flags),
        (file, message, flags))
COUNTED(COUNTED_SEND, ssize_t, send, (int file, const void *bytes, size_t size, int flags),
        (file, bytes, size, flags))
COUNTED(COUNTED_SEND, ssize_t, sendto,
        (int file, const void *bytes, size_t size, int flags, const struct sockaddr *address,
         socklen_t length),
        (file, bytes, size, flags, address, length))
COUNTED(COUNTED_SEND, ssize_t, sendmsg, (int file, const struct msghdr *message, int flags),
        (file, message, flags))
READING(COUNTED_SEND, sendfile, (int to, int file, off_t *at, size_t size), (to, file, at, size))
READING(COUNTED_SEND, sendfile64, (int to, int file, off64_t *at, size_t size), (to, file, at, size))

int ioctl(int file, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    NEXT(ioctl);
    if (request == FICLONE) count(COUNTED_LINK);
    return next(file, request, argument);
}

// Calls for which the C library has no function, or a newer one than a program counts on.
long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long), d = va_arg(rest, long),
         e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    NEXT(syscall);
    switch (number) {
        case SYS_openat2: count(COUNTED_OPEN); break;
        case SYS_getdents64:
            count(COUNTED_LIST);
            if (is_bad((int)a)) return -1;
            break;
        case SYS_renameat2: count(COUNTED_RENAME); break;
        case SYS_copy_file_range: count(COUNTED_WRITE); break;
        case SYS_faccessat2: count(COUNTED_STAT); break;
    }
    return next(number, a, b, c, d, e, f);
}

long sysconf(int name) {
    NEXT(sysconf);
    return processors > 0 && name == _SC_NPROCESSORS_ONLN ? processors : next(name);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int status = next(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += ahead + (stepped ? *stepped : 0);
    if (status == 0 && clock == CLOCK_MONOTONIC) now->tv_sec += passed;
    return status;
}
#endif
