// libcrypto's message digests, nothing else.
#pragma once
#include <openssl/evp.h>
#include <openssl/sha.h>

// SHA-256 without the search for who offers it (SHA256_Init(3)); deprecated in favour of that search.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int castree_sha256_init(SHA256_CTX *context) { return SHA256_Init(context); }
static inline int castree_sha256_update(SHA256_CTX *context, const void *bytes, size_t count) {
    return SHA256_Update(context, bytes, count);
}
static inline int castree_sha256_final(unsigned char *digest, SHA256_CTX *context) {
    return SHA256_Final(digest, context);
}
#pragma GCC diagnostic pop
