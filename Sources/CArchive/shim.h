// libarchive's C API, and the locale by which it converts names.
#pragma once
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

// A locale whose names are UTF-8; NULL if the system has none. Without it libarchive gives no name beyond ASCII.
static inline void *castree_utf8_locale(void) {
    locale_t made = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!made) made = newlocale(LC_CTYPE_MASK, "UTF-8", (locale_t)0);
    if (!made) made = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
    return (void *)made;
}

// Sets the locale of this thread and returns the one before.
static inline void *castree_use_locale(void *locale) { return (void *)uselocale((locale_t)locale); }

static inline void castree_free_locale(void *locale) { freelocale((locale_t)locale); }
