#include "faults.h"
#ifdef __linux__
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"

// The number of the shutdown call of ext4, xfs and f2fs (fs/ext4/ext4.h, fs/xfs/libxfs/xfs_fs.h).
#define SHUT_DOWN _IOR('X', 125, uint32_t)

static const struct { const char *name; int number; } errors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EROFS", EROFS}, {"EMFILE", EMFILE},
    {"EACCES", EACCES}, {"EINTR", EINTR},   {"EMLINK", EMLINK}, {"EXDEV", EXDEV}, {"ENFILE", ENFILE},
    {"ENOMEM", ENOMEM}, {"ENOLCK", ENOLCK}, {"EPERM", EPERM},   {"EFBIG", EFBIG}, {"ENOSYS", ENOSYS},
    {"EOPNOTSUPP", EOPNOTSUPP},
};

bool fault_named(const char *name, struct fault_plan *plan) {
    static const struct { const char *name; enum fault fault; } faults[] = {
        {"kill", FAULT_KILL}, {"torn", FAULT_TORN}, {"short", FAULT_SHORT},
        {"skip", FAULT_SKIP}, {"cut", FAULT_CUT},
    };
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        if (!strcmp(faults[i].name, name)) return plan->fault = faults[i].fault, true;
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(errors[i].name, name))
            return plan->fault = FAULT_ERRNO, plan->error = errors[i].number, true;
    return false;
}

// A pidfd is a process's, a request a thread's.
static pid_t process_of_thread(pid_t thread) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *status = fopen(path, "re");
    int process = thread;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Tgid: %d", &process) == 1) break;
    if (status) fclose(status);
    return process;
}

// Makes the first half of a write on the caller's own open file. Returns the bytes written, -errno,
// or 0 when the call is no write that has a half.
static long write_half(const struct seccomp_notif *request) {
    int call = request->data.nr;
    if ((call != SYS_write && call != SYS_pwrite64) || request->data.args[2] < 2) return 0;
    size_t count = (size_t)request->data.args[2] / 2;
    char *bytes = malloc(count);
    int process = (int)syscall(SYS_pidfd_open, process_of_thread((pid_t)request->pid), 0);
    int file = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, request->data.args[0], 0);
    long written = 0;
    if (bytes && file >= 0 && read_memory((int)request->pid, request->data.args[1], bytes, count)) {
        written = call == SYS_write ? write(file, bytes, count)
                                    : pwrite(file, bytes, count, (off_t)request->data.args[3]);
        if (written < 0) written = -errno;
    }
    if (file >= 0) close(file);
    if (process >= 0) close(process);
    free(bytes);
    return written;
}

bool cut_power(const struct fault_plan *plan, pid_t group) {
    // Nobody may act on the answer of a call that the cut overtakes: ext4 may say that an fsync has
    // succeeded. So first all are stopped, really.
    kill(-group, SIGSTOP);
    siginfo_t stopped;
    waitid(P_PID, (id_t)group, &stopped, WSTOPPED | WEXITED | WNOWAIT);
    uint32_t flush = plan->flush;
    bool done = ioctl(plan->mount, SHUT_DOWN, &flush) == 0;
    if (!done) perror("callfault: the file system cannot be stopped");
    kill(-group, SIGKILL);
    return done;
}

// What a call returns that claims to have been made: its count, or 0.
static long pretended(const struct seccomp_data *made) {
    switch (made->nr) {
        case SYS_write: case SYS_pwrite64: return (long)made->args[2];
        default: return 0;
    }
}

bool do_fault(const struct fault_plan *plan, const struct seccomp_notif *request,
              struct seccomp_notif_resp *answer, pid_t group, bool *acted) {
    *acted = true;
    switch (plan->fault) {
        case FAULT_NONE: return true;
        case FAULT_ERRNO:
            answer->flags = 0;
            answer->error = -plan->error;
            return true;
        case FAULT_SKIP:
            answer->flags = 0;
            answer->val = pretended(&request->data);
            return true;
        case FAULT_SHORT: {
            long written = write_half(request);
            if (written == 0) return *acted = false, true;
            answer->flags = 0;
            if (written < 0) answer->error = (int)written;
            else answer->val = written;
            return true;
        }
        case FAULT_TORN: write_half(request); // and then as below
            __attribute__((fallthrough));
        case FAULT_KILL: kill(-group, SIGKILL); return false;
        case FAULT_CUT:
            if (!cut_power(plan, group)) *acted = false;
            return false;
    }
    return true;
}
#endif
