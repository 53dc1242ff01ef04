// libdivsufsort (https://github.com/y-256/libdivsufsort): what DeltaSearch calls.
#include "loading.h"

LIBRARY(divsufsort, "libdivsufsort.so.3")

#ifndef __APPLE__
#include <divsufsort.h>

RETURNS(saint_t, divsufsort, (const sauchar_t *text, saidx_t *array, saidx_t count), (text, array, count), -1)
#endif
