// What the system says of the mount that holds an open file. No policy.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct castree_mount {
    uint64_t magic;       // statfs(2), f_type; 0 where kinds have names
    char kind[32];        // its name, where kinds have names
    uint64_t file_system; // f_fsid
    uint64_t number;      // of the mount; a unique one, if the kernel has those
    int is_writable;
};

#ifdef __linux__
#include <linux/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

// statx(2), linux/stat.h: since 6.8 a number that no other mount gets until the next boot. Older headers lack it.
#define CASTREE_STATX_MNT_ID_UNIQUE 0x4000u
#define CASTREE_AT_EMPTY_PATH 0x1000

// fstatfs(2) and statx(2). ENOTSUP: the kernel has no number for the mount (before 5.8).
static inline int castree_mount_of(int fd, struct castree_mount *m) {
    struct statfs s;
    struct statx x;
    memset(m, 0, sizeof *m);
    memset(&x, 0, sizeof x);
    if (fstatfs(fd, &s) != 0) return -1;
    // f_type is signed and as wide as a word: a magic is 32 bits.
    m->magic = (uint32_t)s.f_type;
    m->is_writable = !(s.f_flags & 1 /* ST_RDONLY */);
    memcpy(&m->file_system, &s.f_fsid, sizeof m->file_system);
    if (syscall(SYS_statx, fd, "", CASTREE_AT_EMPTY_PATH, STATX_MNT_ID | CASTREE_STATX_MNT_ID_UNIQUE, &x) != 0)
        return -1;
    if (!(x.stx_mask & (STATX_MNT_ID | CASTREE_STATX_MNT_ID_UNIQUE))) {
        errno = ENOTSUP;
        return -1;
    }
    m->number = x.stx_mnt_id;
    return 0;
}
#else
#include <sys/mount.h>
#include <sys/param.h>

// fstatfs(2). Mounts have no number here; a hash (FNV-1a) of the mounted device stands for it.
static inline int castree_mount_of(int fd, struct castree_mount *m) {
    struct statfs s;
    const char *byte;
    memset(m, 0, sizeof *m);
    if (fstatfs(fd, &s) != 0) return -1;
    strlcpy(m->kind, s.f_fstypename, sizeof m->kind);
    m->is_writable = !(s.f_flags & MNT_RDONLY);
    memcpy(&m->file_system, &s.f_fsid, sizeof m->file_system);
    m->number = 14695981039346656037u;
    for (byte = s.f_mntfromname; *byte; byte++) m->number = (m->number ^ (uint8_t)*byte) * 1099511628211u;
    return 0;
}
#endif
