// libcrypto's message digests, Ed25519 and RSA, nothing else.
#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

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

// Ed25519 keys from their 32 bytes (EVP_PKEY_new_raw_public_key(3)); the type is a macro of a macro.
static inline EVP_PKEY *castree_ed25519_public(const unsigned char *bytes, size_t count) {
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, count);
}
static inline EVP_PKEY *castree_ed25519_private(const unsigned char *bytes, size_t count) {
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, count);
}

// Whether a key is one of RSA that signs with any padding (EVP_PKEY_get_base_id(3)).
static inline int castree_is_rsa(const EVP_PKEY *key) {
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
}
