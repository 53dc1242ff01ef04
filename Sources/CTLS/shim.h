// libssl, what WebServer/TLS needs of it: macros as functions, and results that need no second
// question. No policy but the least version and the modes of non-blocking use.
#pragma once
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CASTREE_TLS_BLOCKED (-1)
#define CASTREE_TLS_FAILED (-2)

// TLS 1.2 at least, HTTP/1.1 only, no compression, no renegotiation; a write may take a part, and may
// be repeated from other memory.
static inline SSL_CTX *castree_tls_context(int is_server) {
    SSL_CTX *c = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (!c) return 0;
    if (!SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION)) {
        SSL_CTX_free(c);
        return 0;
    }
    SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(
        c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(c, 1);
    return c;
}

static const unsigned char castree_tls_protocols[] = "\x08http/1.1";

// A client that offers protocols, but not ours, is told so (RFC 7301, section 3.2).
static inline int castree_tls_choose(
    SSL *s, const unsigned char **out, unsigned char *count, const unsigned char *in, unsigned int n, void *x) {
    unsigned char *found = 0;
    (void)s;
    (void)x;
    if (SSL_select_next_proto(&found, count, castree_tls_protocols, 9, in, n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

static inline void castree_tls_server_protocols(SSL_CTX *c) {
    SSL_CTX_set_alpn_select_cb(c, castree_tls_choose, 0);
}

static inline int castree_tls_verify_peers(SSL_CTX *c) {
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, 0);
    return SSL_CTX_set_alpn_protos(c, castree_tls_protocols, 9) == 0;
}

// The peer must have a certificate for that name, or for that address.
static inline int castree_tls_expect(SSL *s, const char *host, int is_address) {
    if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), host);
    SSL_set_hostflags(s, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(s, host) && SSL_set_tlsext_host_name(s, host);
}

// A key behind a passphrase is an error: nobody is there to be asked.
static inline int castree_tls_no_passphrase(char *buffer, int size, int writing, void *was_asked) {
    (void)buffer;
    (void)size;
    (void)writing;
    *(int *)was_asked = 1;
    return -1;
}

// 0, or: 1 the key is encrypted, 2 it is no key, 3 it is of another certificate.
static inline int castree_tls_use_key(SSL_CTX *c, const char *file) {
    int was_asked = 0;
    SSL_CTX_set_default_passwd_cb(c, castree_tls_no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(c, &was_asked);
    BIO *in = BIO_new_file(file, "r");
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, 0, castree_tls_no_passphrase, &was_asked) : 0;
    BIO_free(in);
    SSL_CTX_set_default_passwd_cb_userdata(c, 0);
    if (!key) return was_asked ? 1 : 2;
    X509 *own = SSL_CTX_get0_certificate(c);
    int result = own && X509_check_private_key(own, key) == 1 && SSL_CTX_use_PrivateKey(c, key) == 1 ? 0 : 3;
    EVP_PKEY_free(key);
    return result;
}

// Whether the context's own certificate is good for a name.
static inline int castree_tls_names(SSL_CTX *c, const char *host) {
    X509 *own = SSL_CTX_get0_certificate(c);
    return own && X509_check_host(own, host, 0, 0, 0) == 1;
}

// -1: it has ended; 1: it has not begun; 0: now is within its time.
static inline int castree_tls_certificate_time(SSL_CTX *c) {
    X509 *own = SSL_CTX_get0_certificate(c);
    if (!own) return 0;
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) return -1;
    return X509_cmp_current_time(X509_get0_notBefore(own)) > 0;
}

// The list of authorities by the variable that other programs with libssl know; null if there is none.
static inline const char *castree_tls_named_authorities(void) { return getenv(X509_get_default_cert_file_env()); }

// What a call came to: its bytes, 0 for an orderly end, or one of the two above.
static inline long castree_tls_result(SSL *s, int result) {
    if (result > 0) return result;
    switch (SSL_get_error(s, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return CASTREE_TLS_BLOCKED;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default: return CASTREE_TLS_FAILED;
    }
}

static inline long castree_tls_handshake(SSL *s) {
    ERR_clear_error();
    errno = 0;
    return castree_tls_result(s, SSL_do_handshake(s));
}

static inline long castree_tls_read(SSL *s, void *bytes, size_t count) {
    ERR_clear_error();
    errno = 0;
    return castree_tls_result(s, SSL_read(s, bytes, count > INT_MAX ? INT_MAX : (int)count));
}

static inline long castree_tls_write(SSL *s, const void *bytes, size_t count) {
    ERR_clear_error();
    errno = 0;
    return castree_tls_result(s, SSL_write(s, bytes, count > INT_MAX ? INT_MAX : (int)count));
}

// Says that nothing more will be sent; 0 if the system would have to wait.
static inline int castree_tls_close(SSL *s) {
    ERR_clear_error();
    int result = SSL_shutdown(s);
    return result >= 0 || SSL_get_error(s, result) != SSL_ERROR_WANT_WRITE;
}

// Why the last call failed, as far as this thread's list of errors says; 0 for the system's errors.
static inline int castree_tls_reason(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
}

static inline const char *castree_tls_reason_text(void) {
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "";
}
