// libcurl's multi interface. Its options take variable arguments, which Swift cannot call: each kind
// of argument gets a function here.
#pragma once
#include <curl/curl.h>
#include <stdint.h>
#include <time.h>

static inline CURLcode castree_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode castree_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode castree_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode castree_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*castree_curl_sink)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode castree_curl_set_sink(
    CURL *handle, CURLoption option, castree_curl_sink function) {
    return curl_easy_setopt(handle, option, function);
}

typedef int (*castree_curl_watch)(
    void *context, curl_off_t downTotal, curl_off_t down, curl_off_t upTotal, curl_off_t up);

static inline CURLcode castree_curl_set_watch(CURL *handle, castree_curl_watch function) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
}

// What a read function returns to end its request.
static inline size_t castree_curl_abort_code(void) { return CURL_READFUNC_ABORT; }

static inline CURLcode castree_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode castree_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode castree_curl_get_text(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode castree_curl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode castree_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// What a write function returns to be called again later with the same bytes: a macro in some
// versions of the library, an enumeration in others.
static inline size_t castree_curl_pause_code(void) { return CURL_WRITEFUNC_PAUSE; }

// http and https and nothing else. Since 7.85 the set has a name of its own; the number is the same
// set in the way that every version knows.
static inline CURLcode castree_curl_set_http_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Milliseconds on a clock that only goes forward.
static inline int64_t castree_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
