/* serve TREE PORT: answers GETs with the files of TREE, with the system calls of `castree serve` and no others.
 *
 * One thread, edge-triggered epoll. For each request: epoll_wait, recv (64 KiB), fstat of the open file, send of a head
 * as long as ours (MSG_MORE), sendfile; congestion control `reno`, as ours asks for on loopback. All files are open
 * from the start and found by a table. No routes, no conditions, no ranges, no verification, no cookies, no limits:
 * what is not a GET of a file ends the program. Prints nothing; runs until it is ended.
 */
#include "common.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

enum { EVENTS = 128, SLOTS = 1 << 16, ROOM = 65536 };

struct file {
    char *path; /* "/a/b.js" */
    int fd, head_length;
    off_t size;
    char head[400];
};

struct client {
    int fd;
    struct file *sending; /* what did not fit yet, from `offset` on */
    off_t offset;
    int head_sent;
};

static struct file *table[SLOTS];
static char room[ROOM];

static size_t slot_of(const char *path, size_t length) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)path[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32) & (SLOTS - 1);
}

static struct file *find(const char *path, size_t length) {
    for (size_t slot = slot_of(path, length); table[slot]; slot = (slot + 1) & (SLOTS - 1))
        if (strncmp(table[slot]->path, path, length) == 0 && table[slot]->path[length] == 0) return table[slot];
    return NULL;
}

static void add(const char *path, int fd, off_t size) {
    struct file *file = must_alloc(calloc(1, sizeof *file));
    file->path = must_alloc(strdup(path));
    file->fd = fd;
    file->size = size;
    file->head_length = snprintf(
        file->head, sizeof file->head,
        "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nContent-Type: text/javascript; charset=utf-8\r\n"
        "ETag: \"%064x\"\r\nX-Content-Type-Options: nosniff\r\nAccept-Ranges: bytes\r\n"
        "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: raw, which is as long as ours with all its fields\r\n"
        "Content-Length: %lld\r\n\r\n",
        (unsigned)fd, (long long)size);
    size_t slot = slot_of(path, strlen(path));
    while (table[slot]) slot = (slot + 1) & (SLOTS - 1);
    table[slot] = file;
}

static void open_all(int directory, const char *prefix) {
    DIR *list = list_directory(directory, prefix);
    struct dirent *entry;
    while ((entry = next_entry(list, prefix))) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", prefix, entry->d_name);
        int fd = openat(dirfd(list), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;
        if (fd < 0 || fstat(fd, &status)) die("open", path);
        if (S_ISDIR(status.st_mode)) open_all(fd, path);
        else add(path, fd, status.st_size);
    }
    closedir(list);
}

static void drop(struct client *client) {
    close(client->fd);
    free(client);
}

/* Sends what is left; the next event goes on where the socket is full. Returns 0 if the client is gone. */
static int go_on(struct client *client) {
    struct file *file = client->sending;
    if (client->head_sent < file->head_length) {
        ssize_t sent = send(client->fd, file->head + client->head_sent, (size_t)(file->head_length - client->head_sent),
                            MSG_NOSIGNAL | (file->size ? MSG_MORE : 0));
        if (sent < 0) return errno == EAGAIN;
        client->head_sent += (int)sent;
        if (client->head_sent < file->head_length) return 1;
    }
    while (client->offset < file->size) {
        ssize_t sent = sendfile(client->fd, file->fd, &client->offset, (size_t)(file->size - client->offset));
        if (sent < 0) return errno == EAGAIN;
        if (sent == 0) return 0;
    }
    client->sending = NULL;
    return 1;
}

static int answer(struct client *client) {
    ssize_t length = recv(client->fd, room, sizeof room - 1, 0);
    if (length <= 0) return length < 0 && errno == EAGAIN;
    room[length] = 0;
    char *end = strncmp(room, "GET ", 4) == 0 ? strchr(room + 4, ' ') : NULL;
    struct file *file = end && strstr(end, "\r\n\r\n") ? find(room + 4, (size_t)(end - room - 4)) : NULL;
    if (!file) {
        fprintf(stderr, "serve: no whole GET of a file: %.80s\n", room);
        exit(1);
    }
    struct stat status;
    if (fstat(file->fd, &status) || status.st_size != file->size) die("look at", file->path);
    client->sending = file;
    client->offset = 0;
    client->head_sent = 0;
    return go_on(client);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: serve TREE PORT\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    open_all(open_directory(AT_FDCWD, arguments[1]), "");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[2]))};
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&place, sizeof place) || listen(listener, 1024)) die("listen", arguments[2]);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
    if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event)) die("watch", "the listener");
    for (;;) {
        int count = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct client *client = events[i].data.ptr;
            if (client) {
                if (!(client->sending ? go_on(client) : answer(client))) drop(client);
                continue;
            }
            int fd;
            while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
                client = must_alloc(calloc(1, sizeof *client));
                client->fd = fd;
                event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
                event.data.ptr = client;
                if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)) die("watch", "a client");
            }
        }
    }
}
