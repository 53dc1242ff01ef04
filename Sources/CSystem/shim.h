// System calls and constants that Swift's C library overlays leave out: GNU extensions, variadic
// functions, function-like macros. One typed inline function each; no logic.
//
// _GNU_SOURCE must not be defined here: it changes the layout of types (fd_set) that the overlay has
// imported without it, and the modules would no longer agree.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

// Nanoseconds since 1970. Seconds before 1963 and after 2255 count as those ends: 64 bits hold no more, and the difference of
// two times is one, too.
static inline int64_t castree_nanoseconds(const struct timespec *t) {
    int64_t seconds = t->tv_sec < -200000000 ? -200000000 : t->tv_sec > 9000000000 ? 9000000000 : t->tv_sec;
    return seconds * 1000000000 + t->tv_nsec;
}

// utimensat(2): sets when an entry was written and leaves when it was read.
static inline int castree_set_modified(int directory, const char *path, int64_t nanoseconds) {
    struct timespec times[2] = {{0, UTIME_OMIT}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
    return utimensat(directory, path, times, AT_SYMLINK_NOFOLLOW);
}

#ifdef __linux__
#include <sys/syscall.h>
#endif

// fchmodat(2) that follows no link. Before glibc 2.39 the C library needs /proc for that; Linux 6.6 does not (fchmodat2, 452).
static inline int castree_set_mode(int directory, const char *path, mode_t mode) {
    int result = fchmodat(directory, path, mode, AT_SYMLINK_NOFOLLOW);
#ifdef __linux__
    if (result == 0 || errno != EOPNOTSUPP) return result;
    result = (int)syscall(452, directory, path, mode, AT_SYMLINK_NOFOLLOW);
    if (result != 0 && errno == ENOSYS) errno = EOPNOTSUPP;
#endif
    return result;
}

#ifdef __GLIBC__
#include <malloc.h>
#endif

// setpriority(2), "C library/kernel differences": on Linux of this thread alone; elsewhere the thread says what it is for.
// More than 19 is 19.
#ifdef __linux__
#include <sys/resource.h>
static inline void castree_give_way(void) {
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10);
}
#else
#include <pthread/qos.h>
static inline void castree_give_way(void) { pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0); }
#endif

#ifdef __linux__
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

// setfsuid(2), for this thread only: the C library's setgroups(3) would change all threads. 0 if the thread is that user.
static inline int castree_act_as(uint32_t user, uint32_t group, size_t count, const uint32_t *groups) {
#ifdef SYS_setfsuid32
    const long set_user = SYS_setfsuid32, set_group = SYS_setfsgid32, set_groups = SYS_setgroups32;
#else
    const long set_user = SYS_setfsuid, set_group = SYS_setfsgid, set_groups = SYS_setgroups;
#endif
    if (syscall(set_groups, count, groups) != 0) return -1;
    syscall(set_group, group);
    syscall(set_user, user);
    // The calls themselves never tell whether they failed.
    if ((uint32_t)syscall(set_group, (uint32_t)-1) != group) return -1;
    return (uint32_t)syscall(set_user, (uint32_t)-1) == user ? 0 : -1;
}
// syncfs(2), declared by the C library for _GNU_SOURCE only.
extern int syncfs(int fd);
// syncfs(2): all data and metadata of the file system that holds fd.
static inline int castree_syncfs(int fd) { return syncfs(fd); }
// ioctl_ficlone(2): target becomes a copy-on-write clone of source.
static inline int castree_clone(int target, int source) { return ioctl(target, FICLONE, source); }
static inline int castree_fsync(int fd) { return fsync(fd); }
// renameat2(2) with RENAME_EXCHANGE: both names must exist.
static inline int castree_rename_exchange(int oldfd, const char *old, int newfd, const char *name) {
    return (int)syscall(SYS_renameat2, oldfd, old, newfd, name, RENAME_EXCHANGE);
}

// renameat2(2) with RENAME_NOREPLACE: EEXIST if the new name is taken.
static inline int castree_rename_new(int oldfd, const char *old, int newfd, const char *name) {
    return (int)syscall(SYS_renameat2, oldfd, old, newfd, name, RENAME_NOREPLACE);
}
// openat2(2): below dir, through no symbolic link.
static inline int castree_open_beneath(int dir, const char *path, int flags, mode_t mode) {
    struct open_how how = {0};
    how.flags = (uint64_t)(unsigned)flags;
    how.mode = flags & O_CREAT ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}
// openat2(2): a directory, through no symbolic link.
static inline int castree_open_through_no_link(int dir, const char *path) {
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}
// getdents64(2): struct linux_dirent64 records, as many as fit; 0 at the end.
static inline ssize_t castree_getdents(int fd, void *buffer, size_t count) {
    return syscall(SYS_getdents64, fd, buffer, count);
}
// pipe2(2), declared by the C library for _GNU_SOURCE only.
extern int pipe2(int ends[2], int flags);
// Both ends are closed in whatever program another thread starts meanwhile.
static inline int castree_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

// dup3(2), likewise: `number` is another open file from now on, and is never closed meanwhile.
extern int dup3(int file, int number, int flags);
static inline int castree_redirect(int number, int file) { return dup3(file, number, O_CLOEXEC); }
static inline int castree_random(void *bytes, size_t count) {
    return getrandom(bytes, count, 0) == (ssize_t)count ? 0 : -1;
}
static inline int64_t castree_mtime_ns(const struct stat *s) {
    return castree_nanoseconds(&s->st_mtim);
}
static inline int64_t castree_ctime_ns(const struct stat *s) {
    return castree_nanoseconds(&s->st_ctim);
}
#else
#include <sys/random.h>
// Darwin has no syncfs(2); callers sync file by file instead.
static inline int castree_syncfs(int fd) { (void)fd; errno = ENOSYS; return -1; }
// As above; declared for the system's own programs only.
extern int pthread_setugid_np(uid_t user, gid_t group);
static inline int castree_act_as(uint32_t user, uint32_t group, size_t count, const uint32_t *groups) {
    (void)count, (void)groups;
    return user == 0 ? pthread_setugid_np((uid_t)-101, (gid_t)-101) : pthread_setugid_np(user, group);
}
static inline int castree_clone(int target, int source) {
    (void)target; (void)source; errno = ENOTSUP; return -1;
}
// fsync(2) on Darwin leaves data in the drive's cache; F_FULLFSYNC does not.
static inline int castree_fsync(int fd) {
    int r = fcntl(fd, F_FULLFSYNC);
    return r == -1 && (errno == ENOTSUP || errno == EINVAL) ? fsync(fd) : r;
}
static inline int castree_rename_exchange(int oldfd, const char *old, int newfd, const char *name) {
    return renameatx_np(oldfd, old, newfd, name, RENAME_SWAP);
}

static inline int castree_rename_new(int oldfd, const char *old, int newfd, const char *name) {
    return renameatx_np(oldfd, old, newfd, name, RENAME_EXCL);
}
// Darwin has no openat2(2); callers go down component by component.
static inline int castree_open_beneath(int dir, const char *path, int flags, mode_t mode) {
    (void)dir; (void)path; (void)flags; (void)mode; errno = ENOSYS; return -1;
}
static inline int castree_open_through_no_link(int dir, const char *path) {
    (void)dir; (void)path; errno = ENOSYS; return -1;
}
// Darwin has no dup3(2): likewise.
static inline int castree_redirect(int number, int file) {
    if (dup2(file, number) < 0) return -1;
    return fcntl(number, F_SETFD, FD_CLOEXEC);
}

// Darwin has no pipe2(2): a program that another thread starts between the calls inherits the ends.
static inline int castree_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}
static inline int castree_random(void *bytes, size_t count) { return getentropy(bytes, count); }
static inline int64_t castree_mtime_ns(const struct stat *s) {
    return castree_nanoseconds(&s->st_mtimespec);
}
static inline int64_t castree_ctime_ns(const struct stat *s) {
    return castree_nanoseconds(&s->st_ctimespec);
}
#endif

static inline int castree_openat(int dir, const char *path, int flags, mode_t mode) {
    return openat(dir, path, flags, mode);
}
// open(2): O_PATH, which the C library declares for _GNU_SOURCE only; 0 if there is none.
static inline int castree_only_looking(void) {
#ifdef __O_PATH
    return __O_PATH;
#elif defined(O_PATH)
    return O_PATH;
#else
    return 0;
#endif
}
// Whose a symbolic link is, and what it says: as readlinkat(2), of one and the same link. -2 for one of /proc (proc(5)), which
// may lead elsewhere than it says.
static inline ssize_t castree_read_link(int dir, const char *name, char *target, size_t size, uid_t *owner) {
#ifdef __APPLE__
    int link = openat(dir, name, O_SYMLINK | O_NONBLOCK | O_CLOEXEC);
#else
    int link = openat(dir, name, castree_only_looking() | O_NOFOLLOW | O_CLOEXEC);
#endif
    if (link < 0) return -1;
    struct stat status;
    ssize_t count = fstat(link, &status);
    if (count == 0) {
        *owner = status.st_uid;
#ifdef __APPLE__
        count = readlinkat(dir, name, target, size);
#else
        struct statfs system;
        count = readlinkat(link, "", target, size);
        if (count >= 0 && fstatfs(link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
            count = -2;
            errno = 0;
        }
#endif
    }
    int number = errno;
    close(link);
    errno = number;
    return count;
}
static inline unsigned castree_file_type(mode_t mode) { return mode & S_IFMT; }

// mallopt(3), M_MMAP_THRESHOLD: keeps glibc from moving this limit; other allocators have none.
static inline void castree_fix_mapping_threshold(int count) {
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, count);
#else
    (void)count;
#endif
}
