// A WebSocket that sends every text back, for one client at a time: the least that a round trip costs.
// No queue, no numbers, no acknowledgement, no limit but its buffer; frames of up to 64 KB, whole ones.
//
//   echo PORT

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char buffer[1 << 17];
static size_t filled;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int more(int client) {
    if (filled == sizeof buffer - 1) return 0;
    ssize_t count = recv(client, buffer + filled, sizeof buffer - 1 - filled, 0);
    if (count <= 0) return 0;
    filled += (size_t)count;
    return 1;
}

static void drop(size_t count) {
    filled -= count;
    memmove(buffer, buffer + count, filled);
}

// Answers the handshake (RFC 6455, section 4.2.2).
static int upgrade(int client) {
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", name[] = "Sec-WebSocket-Key: ";
    char *end;
    do {
        if (!more(client)) return 0;
        buffer[filled] = 0;
        end = strstr((char *)buffer, "\r\n\r\n");
    } while (!end);
    char *key = strstr((char *)buffer, name);
    if (!key) return 0;
    key += sizeof name - 1;
    char joined[128], accept[64], answer[256];
    int length = snprintf(joined, sizeof joined, "%.24s%s", key, guid);
    unsigned char digest[SHA_DIGEST_LENGTH];
    SHA1((unsigned char *)joined, (size_t)length, digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
    length = snprintf(answer, sizeof answer,
                      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    drop((size_t)(end + 4 - (char *)buffer));
    return send(client, answer, (size_t)length, MSG_NOSIGNAL) == length;
}

static void serve(int client) {
    static unsigned char out[1 << 17];
    if (!upgrade(client)) return;
    for (;;) {
        while (filled < 8) if (!more(client)) return;
        size_t length = buffer[1] & 127, start = 2;
        if (length == 126) {
            length = (size_t)buffer[2] << 8 | buffer[3];
            start = 4;
        } else if (length == 127) {
            return;
        }
        while (filled < start + 4 + length) if (!more(client)) return;
        if ((buffer[0] & 15) != 1) return;
        const unsigned char *mask = buffer + start, *from = mask + 4;
        memcpy(out, buffer, start);
        out[1] &= 127;
        for (size_t i = 0; i < length; i++) out[start + i] = from[i] ^ mask[i & 3];
        if (send(client, out, start + length, MSG_NOSIGNAL) < 0) return;
        drop(start + 4 + length);
    }
}

int main(int count, char **words) {
    if (count != 2) {
        fputs("usage: echo PORT\n", stderr);
        return 2;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0) fail("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
    if (listen(listener, 16) < 0) fail("listen");
    for (;;) {
        int client = accept(listener, 0, 0);
        if (client < 0) fail("accept");
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        filled = 0;
        serve(client);
        close(client);
    }
}
