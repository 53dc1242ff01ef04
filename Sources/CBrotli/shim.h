// The decoder of libbrotli, nothing else.
#pragma once
#include <brotli/decode.h>
