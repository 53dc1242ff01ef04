// zlib's C API, nothing else.
#pragma once
#include <zlib.h>
