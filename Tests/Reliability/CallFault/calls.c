#include "calls.h"
#ifdef __linux__
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "arguments.h"

#define NONE -1
#define ON_FILE(call, class) {SYS_##call, #call, class, 0, NONE, NONE, NONE, NONE}
#define ON_OUTPUT(call, class, output) {SYS_##call, #call, class, output, NONE, NONE, NONE, NONE}
#define AT_PATH(call, class) {SYS_##call, #call, class, NONE, 0, 1, NONE, NONE}
#define ON_PATH(call, class) {SYS_##call, #call, class, NONE, NONE, 0, NONE, NONE}
#define ON_PATHS(call, class) {SYS_##call, #call, class, NONE, NONE, 0, NONE, 1}
#define AT_PATHS(call, class) {SYS_##call, #call, class, NONE, 0, 1, 2, 3}

const struct call every_call[] = {
    ON_FILE(write, CLASS_WRITE),
    ON_FILE(pwrite64, CLASS_WRITE),
    ON_FILE(writev, CLASS_WRITE),
    ON_FILE(pwritev, CLASS_WRITE),
    ON_FILE(pwritev2, CLASS_WRITE),
    ON_OUTPUT(copy_file_range, CLASS_WRITE, 2),
    ON_FILE(sendfile, CLASS_WRITE),
    ON_OUTPUT(splice, CLASS_WRITE, 2),
    ON_FILE(ftruncate, CLASS_WRITE),
    ON_FILE(fallocate, CLASS_WRITE),
    ON_FILE(ioctl, CLASS_WRITE),
    ON_FILE(fsync, CLASS_SYNC),
    ON_FILE(fdatasync, CLASS_SYNC),
    ON_FILE(syncfs, CLASS_SYNC),
    ON_FILE(sync_file_range, CLASS_SYNC),
    AT_PATH(openat, CLASS_OPEN),
    AT_PATH(openat2, CLASS_OPEN),
    AT_PATHS(renameat2, CLASS_NAME),
    AT_PATHS(linkat, CLASS_NAME),
    {SYS_symlinkat, "symlinkat", CLASS_NAME, NONE, 1, 2, NONE, NONE},
    AT_PATH(unlinkat, CLASS_NAME),
    AT_PATH(mkdirat, CLASS_NAME),
    ON_FILE(fchmod, CLASS_NAME),
    AT_PATH(fchmodat, CLASS_NAME),
    AT_PATH(utimensat, CLASS_NAME),
    ON_PATH(truncate, CLASS_WRITE),
    ON_FILE(read, CLASS_READ),
    ON_FILE(pread64, CLASS_READ),
    ON_FILE(getdents64, CLASS_READ),
    ON_FILE(fstat, CLASS_READ),
    AT_PATH(newfstatat, CLASS_READ),
    AT_PATH(statx, CLASS_READ),
    AT_PATH(readlinkat, CLASS_READ),
    AT_PATH(faccessat, CLASS_READ),
    ON_FILE(flock, CLASS_LOCK),
    ON_FILE(fcntl, CLASS_LOCK),
#ifdef SYS_renameat
    AT_PATHS(renameat, CLASS_NAME),
#endif
#ifdef SYS_open
    ON_PATH(open, CLASS_OPEN),
    ON_PATH(creat, CLASS_NAME),
    ON_PATHS(rename, CLASS_NAME),
    ON_PATHS(link, CLASS_NAME),
    {SYS_symlink, "symlink", CLASS_NAME, NONE, NONE, 1, NONE, NONE},
    ON_PATH(unlink, CLASS_NAME),
    ON_PATH(mkdir, CLASS_NAME),
    ON_PATH(rmdir, CLASS_NAME),
    ON_PATH(chmod, CLASS_NAME),
    ON_PATH(stat, CLASS_READ),
    ON_PATH(lstat, CLASS_READ),
    ON_PATH(access, CLASS_READ),
    ON_PATH(readlink, CLASS_READ),
#endif
    {0},
};
_Static_assert(sizeof every_call / sizeof *every_call <= MAXIMUM_CALLS, "raise MAXIMUM_CALLS");

const struct call *call_numbered(int number) {
    for (const struct call *call = every_call; call->name; call++)
        if (call->number == number) return call;
    return NULL;
}

static unsigned long long open_flags(const struct seccomp_data *made, int process) {
    if (made->nr == SYS_openat) return made->args[2];
    if (made->nr == SYS_openat2) {
        struct open_how how = {0};
        return read_memory(process, made->args[2], &how, sizeof how) ? how.flags : 0;
    }
    return made->args[1];
}

bool changes_disk(const struct call *call, const struct seccomp_data *made, int process) {
    if (call->class == CLASS_OPEN)
        return (open_flags(made, process) & (O_CREAT | O_TRUNC)) != 0;
    return (call->class & (CLASS_WRITE | CLASS_SYNC | CLASS_NAME)) != 0;
}

static int class_named(const char *name) {
    static const struct { const char *name; int classes; } names[] = {
        {"changes", CLASS_WRITE | CLASS_SYNC | CLASS_NAME | CLASS_OPEN},
        {"all", CLASS_WRITE | CLASS_SYNC | CLASS_NAME | CLASS_OPEN | CLASS_READ | CLASS_LOCK},
        {"writes", CLASS_WRITE}, {"syncs", CLASS_SYNC}, {"names", CLASS_NAME},
        {"opens", CLASS_OPEN},   {"reads", CLASS_READ}, {"locks", CLASS_LOCK},
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) return names[i].classes;
    return 0;
}

bool mark_calls(const char *list, bool *marks) {
    char copy[512];
    if (strlen(list) >= sizeof copy) return false;
    strcpy(copy, list);
    char *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        int classes = class_named(name);
        bool known = classes != 0 || !strcmp(name, "none");
        for (int i = 0; every_call[i].name; i++) {
            if (every_call[i].class & classes || !strcmp(every_call[i].name, name))
                marks[i] = known = true;
        }
        if (!known) return false;
    }
    return true;
}
#endif
