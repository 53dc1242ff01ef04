// Sockets and readiness (epoll, kqueue) under one spelling: what Swift's C library overlays leave out,
// and the few places where Linux and Darwin differ. No policy. Every function returns -1 and sets
// errno when it fails, as the call beneath it does.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CASTREE_READABLE 1u
#define CASTREE_WRITABLE 2u
// The peer has closed its sending side, or the connection is broken.
#define CASTREE_CLOSING 4u

struct castree_event {
    uint64_t token;
    uint32_t flags;
};

#ifdef __linux__
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
// accept4(2), declared by the C library for _GNU_SOURCE only.
extern int accept4(int, struct sockaddr *, socklen_t *, int);

static inline int castree_poller_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
// Edge-triggered, both directions, for the life of the socket.
static inline int castree_poller_add_stream(int poller, int fd, uint64_t token) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
}
// Level-triggered; of several pollers one is woken.
static inline int castree_poller_add_listener(int poller, int fd, uint64_t token) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
}
static inline int castree_poller_remove(int poller, int fd) {
    return epoll_ctl(poller, EPOLL_CTL_DEL, fd, 0);
}
static inline int castree_poller_wait(int poller, struct castree_event *events, int capacity, int ms) {
    struct epoll_event found[128];
    int n = epoll_wait(poller, found, capacity < 128 ? capacity : 128, ms);
    for (int i = 0; i < n; i++) {
        uint32_t f = found[i].events;
        events[i].token = found[i].data.u64;
        events[i].flags = (f & EPOLLIN ? CASTREE_READABLE : 0) | (f & EPOLLOUT ? CASTREE_WRITABLE : 0)
            | (f & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? CASTREE_CLOSING : 0);
    }
    return n;
}
static inline int castree_waker_create(int *reading, int *writing) {
    *reading = *writing = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return *reading < 0 ? -1 : 0;
}
static inline int castree_accept(int listener) {
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static inline ssize_t castree_send(int fd, const void *bytes, size_t count, int more) {
    return send(fd, bytes, count, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
}
static inline ssize_t castree_send_two(
    int fd, const void *a, size_t an, const void *b, size_t bn, int more) {
    struct iovec parts[2] = {{(void *)a, an}, {(void *)b, bn}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
}
// Congestion control without pacing, for a listener and what it accepts. If BBR is the default, every
// answer would set a timer; between two processes of one machine nothing can be congested.
static inline int castree_unpaced(int fd) {
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}
static inline ssize_t castree_sendfile(int fd, int file, int64_t offset, size_t count) {
    off_t position = offset;
    return sendfile(fd, file, &position, count);
}
static inline int castree_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}
static inline int64_t castree_realtime_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return t.tv_sec;
}
#else
#include <sys/event.h>
#include <sys/uio.h>

static inline int castree_poller_create(void) { return kqueue(); }
static inline int castree_poller_add_stream(int poller, int fd, uint64_t token) {
    struct kevent e[2];
    EV_SET(&e[0], fd, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)token);
    EV_SET(&e[1], fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)token);
    return kevent(poller, e, 2, 0, 0, 0);
}
static inline int castree_poller_add_listener(int poller, int fd, uint64_t token) {
    struct kevent e;
    EV_SET(&e, fd, EVFILT_READ, EV_ADD, 0, 0, (void *)(uintptr_t)token);
    return kevent(poller, &e, 1, 0, 0, 0);
}
static inline int castree_poller_remove(int poller, int fd) {
    struct kevent e;
    EV_SET(&e, fd, EVFILT_READ, EV_DELETE, 0, 0, 0);
    return kevent(poller, &e, 1, 0, 0, 0);
}
static inline int castree_poller_wait(int poller, struct castree_event *events, int capacity, int ms) {
    struct kevent found[128];
    struct timespec limit = {ms / 1000, (long)(ms % 1000) * 1000000};
    int n = kevent(poller, 0, 0, found, capacity < 128 ? capacity : 128, ms < 0 ? 0 : &limit);
    for (int i = 0; i < n; i++) {
        events[i].token = (uint64_t)(uintptr_t)found[i].udata;
        events[i].flags = (found[i].filter == EVFILT_READ ? CASTREE_READABLE : CASTREE_WRITABLE)
            | (found[i].flags & EV_EOF ? CASTREE_CLOSING : 0);
    }
    return n;
}
static inline int castree_waker_create(int *reading, int *writing) {
    int ends[2];
    if (pipe(ends) < 0) return -1;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}
static inline int castree_quiet(int fd) {
    int on = 1;
    if (fd < 0) return fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return fd;
}
static inline int castree_accept(int listener) { return castree_quiet(accept(listener, 0, 0)); }
static inline ssize_t castree_send(int fd, const void *bytes, size_t count, int more) {
    (void)more;
    return send(fd, bytes, count, 0);
}
static inline ssize_t castree_send_two(
    int fd, const void *a, size_t an, const void *b, size_t bn, int more) {
    struct iovec parts[2] = {{(void *)a, an}, {(void *)b, bn}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    (void)more;
    return sendmsg(fd, &message, 0);
}
static inline int castree_unpaced(int fd) { (void)fd; return 0; }
static inline ssize_t castree_sendfile(int fd, int file, int64_t offset, size_t count) {
    off_t length = (off_t)count;
    if (sendfile(file, fd, offset, &length, 0, 0) == 0 || length > 0) return (ssize_t)length;
    return -1;
}
static inline int castree_socket(int family) { return castree_quiet(socket(family, SOCK_STREAM, 0)); }
static inline int64_t castree_realtime_seconds(void) { return time(0); }
#endif

/* By how many seconds the local time, which TZ names, is ahead of UTC at a moment. */
static inline int64_t castree_utc_offset(int64_t seconds) {
    time_t moment = (time_t)seconds;
    struct tm local;
    return localtime_r(&moment, &local) ? local.tm_gmtoff : 0;
}
static inline int64_t castree_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline void castree_wake(int fd) {
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
}
static inline void castree_waker_drain(int fd) {
    uint64_t counts[16];
    ssize_t ignored = read(fd, counts, sizeof counts);
    (void)ignored;
}
// sendfile(2) has no MSG_NOSIGNAL: the calling thread blocks SIGPIPE and sees EPIPE instead.
static inline void castree_block_sigpipe(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, 0);
}
static inline ssize_t castree_receive(int fd, void *bytes, size_t count) {
    return recv(fd, bytes, count, 0);
}
// Whether bytes have come that were not received yet.
static inline int castree_has_unread(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
static inline int castree_no_delay(int fd) {
    int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
// Bytes sent that the peer has not acknowledged; -1 if unknown.
static inline int castree_unacknowledged(int fd) {
    int count = 0;
#ifdef __linux__
    return ioctl(fd, SIOCOUTQ, &count) < 0 ? -1 : count;
#else
    socklen_t length = sizeof count;
    return getsockopt(fd, SOL_SOCKET, SO_NWRITE, &count, &length) < 0 ? -1 : count;
#endif
}
// Fills a socket address from 4 or 16 bytes in network order.
static inline socklen_t castree_address(
    struct sockaddr_storage *s, int is6, const uint8_t *bytes, uint16_t port) {
    memset(s, 0, sizeof *s);
    if (is6) {
        struct sockaddr_in6 *a = (struct sockaddr_in6 *)s;
        a->sin6_family = AF_INET6;
        a->sin6_port = htons(port);
        memcpy(&a->sin6_addr, bytes, 16);
        return sizeof *a;
    }
    struct sockaddr_in *a = (struct sockaddr_in *)s;
    a->sin_family = AF_INET;
    a->sin_port = htons(port);
    memcpy(&a->sin_addr, bytes, 4);
    return sizeof *a;
}
static inline int castree_listen(int is6, const uint8_t *bytes, uint16_t port, int backlog) {
    struct sockaddr_storage s;
    socklen_t length = castree_address(&s, is6, bytes, port);
    int on = 1, number, fd = castree_socket(is6 ? AF_INET6 : AF_INET);
    if (fd < 0) return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0
        && (!is6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0)
        && bind(fd, (struct sockaddr *)&s, length) == 0 && listen(fd, backlog) == 0)
        return fd;
    number = errno;
    close(fd);
    errno = number;
    return -1;
}
// Begins a connection: EINPROGRESS is success.
static inline int castree_connect(int is6, const uint8_t *bytes, uint16_t port) {
    struct sockaddr_storage s;
    socklen_t length = castree_address(&s, is6, bytes, port);
    int number, fd = castree_socket(is6 ? AF_INET6 : AF_INET);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&s, length) == 0 || errno == EINPROGRESS) return fd;
    number = errno;
    close(fd);
    errno = number;
    return -1;
}
// The outcome of a connection that was begun: 0, or its errno.
static inline int castree_connect_result(int fd) {
    int number = 0;
    socklen_t length = sizeof number;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &length) == 0 ? number : errno;
}
static inline int castree_local_port(int fd) {
    struct sockaddr_storage s;
    socklen_t length = sizeof s;
    if (getsockname(fd, (struct sockaddr *)&s, &length) < 0) return -1;
    return ntohs(s.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&s)->sin6_port
                                         : ((struct sockaddr_in *)&s)->sin_port);
}
// Fills bytes with the 4 or 16 bytes of the peer's address, in network order; returns how many.
static inline int castree_peer(int fd, uint8_t *bytes, uint16_t *port) {
    struct sockaddr_storage s;
    socklen_t length = sizeof s;
    if (getpeername(fd, (struct sockaddr *)&s, &length) < 0) return -1;
    if (s.ss_family == AF_INET6) {
        memcpy(bytes, &((struct sockaddr_in6 *)&s)->sin6_addr, 16);
        *port = ntohs(((struct sockaddr_in6 *)&s)->sin6_port);
        return 16;
    }
    memcpy(bytes, &((struct sockaddr_in *)&s)->sin_addr, 4);
    *port = ntohs(((struct sockaddr_in *)&s)->sin_port);
    return 4;
}
// Makes close(2) reset the connection: the peer cannot take a cut for an orderly end.
static inline int castree_reset_on_close(int fd) {
    struct linger on = {1, 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &on, sizeof on);
}
