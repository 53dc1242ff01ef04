// Host names to addresses (getaddrinfo(3)), as plain bytes. It blocks: never call it on a loop's thread.
#pragma once
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct castree_resolved {
    uint8_t bytes[16];
    uint8_t count; // 4 or 16
};

// Returns how many addresses were found, in the order to try; or minus the absolute value of an EAI_
// code.
static inline int castree_resolve(const char *name, struct castree_resolved *found, int capacity) {
    struct addrinfo wanted, *first = 0, *each;
    int count = 0, code;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    code = getaddrinfo(name, 0, &wanted, &first);
    if (code != 0) return code < 0 ? code : -code;
    for (each = first; each && count < capacity; each = each->ai_next) {
        if (each->ai_family == AF_INET) {
            memcpy(found[count].bytes, &((struct sockaddr_in *)each->ai_addr)->sin_addr, 4);
            found[count++].count = 4;
        } else if (each->ai_family == AF_INET6) {
            memcpy(found[count].bytes, &((struct sockaddr_in6 *)each->ai_addr)->sin6_addr, 16);
            found[count++].count = 16;
        }
    }
    freeaddrinfo(first);
    return count;
}
