// libcurl (https://curl.se/libcurl/c/): what CurlTransport calls.
#include "loading.h"

LIBRARY(curl, "libcurl.so.4")

#ifndef __APPLE__
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdarg.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

RETURNS(CURLcode, curl_global_init, (long flags), (flags), CURLE_FAILED_INIT)
RETURNS(char *, curl_version, (void), (), (char *)"libcurl")
ENDS(curl_free, (void *memory), (memory))

RETURNS(CURL *, curl_easy_init, (void), (), 0)
ENDS(curl_easy_cleanup, (CURL *easy), (easy))
RETURNS(CURLcode, curl_easy_perform, (CURL *easy), (easy), CURLE_FAILED_INIT)
RETURNS(CURLcode, curl_easy_pause, (CURL *easy, int mask), (easy, mask), CURLE_FAILED_INIT)
RETURNS(const char *, curl_easy_strerror, (CURLcode code), (code), "no libcurl")

RETURNS(CURLM *, curl_multi_init, (void), (), 0)
RETURNS(CURLMcode, curl_multi_cleanup, (CURLM *multi), (multi), CURLM_BAD_HANDLE)
RETURNS(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy), CURLM_BAD_HANDLE)
RETURNS(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy), CURLM_BAD_HANDLE)
RETURNS(CURLMcode, curl_multi_perform, (CURLM *multi, int *running), (multi, running), CURLM_BAD_HANDLE)
RETURNS(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), (multi, left), 0)
RETURNS(
    CURLMcode, curl_multi_poll, (CURLM *multi, struct curl_waitfd *others, unsigned int count, int limit, int *ready),
    (multi, others, count, limit, ready), CURLM_BAD_HANDLE)
RETURNS(const char *, curl_multi_strerror, (CURLMcode code), (code), "no libcurl")

RETURNS(
    struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text), (list, text), 0)
ENDS(curl_slist_free_all, (struct curl_slist *list), (list))

#if LIBCURL_VERSION_NUM >= 0x080000
#define URL const CURLU *
#else
#define URL CURLU *
#endif
RETURNS(CURLU *, curl_url, (void), (), 0)
ENDS(curl_url_cleanup, (CURLU *url), (url))
RETURNS(
    CURLUcode, curl_url_get, (URL url, CURLUPart part, char **text, unsigned int flags), (url, part, text, flags),
    CURLUE_OUT_OF_MEMORY)
RETURNS(
    CURLUcode, curl_url_set, (CURLU *url, CURLUPart part, const char *text, unsigned int flags),
    (url, part, text, flags), CURLUE_OUT_OF_MEMORY)

// The option's number says what its argument is (curl.h, CURLOPTTYPE_*), as libcurl itself reads it.
#define SETS(type, name, handle, option, otherwise)                                                          \
    type name(handle *of, option which, ...) {                                                               \
        FOUND(name);                                                                                         \
        if (!function) return otherwise;                                                                     \
        type code;                                                                                           \
        va_list list;                                                                                        \
        va_start(list, which);                                                                               \
        if ((int)which < CURLOPTTYPE_OBJECTPOINT)                                                            \
            code = function(of, which, va_arg(list, long));                                                  \
        else if ((int)which >= CURLOPTTYPE_OFF_T && (int)which < CURLOPTTYPE_BLOB)                           \
            code = function(of, which, va_arg(list, curl_off_t));                                            \
        else                                                                                                 \
            code = function(of, which, va_arg(list, void *));                                                \
        va_end(list);                                                                                        \
        return code;                                                                                         \
    }
SETS(CURLcode, curl_easy_setopt, CURL, CURLoption, CURLE_FAILED_INIT)
SETS(CURLMcode, curl_multi_setopt, CURLM, CURLMoption, CURLM_BAD_HANDLE)

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...) {
    FOUND(curl_easy_getinfo);
    if (!function) return CURLE_FAILED_INIT;
    va_list list;
    va_start(list, info);
    CURLcode code = function(easy, info, va_arg(list, void *));
    va_end(list);
    return code;
}
#endif
