// xxHash's C API, nothing else.
#pragma once
#include <xxhash.h>
