#include "filter.h"
#ifdef __linux__
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "callfault does not know the system calls of this processor"
#endif

// Installs the filter in this process; returns its listener.
static int install_filter(const bool asked[MAXIMUM_CALLS]) {
    struct sock_filter program[MAXIMUM_CALLS * 2 + 8];
    unsigned short length = 0;
    program[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    program[length++] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; every_call[i].name; i++) {
        if (!asked[i]) continue;
        program[length++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)every_call[i].number, 0, 1);
        program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog whole = {length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &whole);
}

// A descriptor travels between processes as a control message (unix(7)).
union passage {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
};

static bool send_descriptor(int socket, int descriptor) {
    char byte = 0;
    struct iovec content = {&byte, 1};
    union passage passage = {0};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1,
                             .msg_control = &passage, .msg_controllen = sizeof passage};
    passage.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&passage.header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, 0) == 1;
}

static int receive_descriptor(int socket) {
    char byte;
    struct iovec content = {&byte, 1};
    union passage passage = {0};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1,
                             .msg_control = &passage, .msg_controllen = sizeof passage};
    int descriptor = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message)) return -1;
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

pid_t start_supervised(char **command, const bool asked[MAXIMUM_CALLS], int *listener) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return perror("callfault"), -1;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int own = install_filter(asked);
        if (own < 0 || !send_descriptor(ends[1], own)) _exit(125);
        close(own);
        execvp(command[0], command);
        dprintf(2, "callfault: cannot run %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    *listener = child < 0 ? -1 : receive_descriptor(ends[0]);
    close(ends[0]);
    if (*listener >= 0) return child;
    fprintf(stderr, "callfault: this system lets nobody answer for system calls\n");
    if (child > 0) kill(child, SIGKILL);
    return -1;
}
#endif
