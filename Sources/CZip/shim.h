// libzip's C API, nothing else.
#pragma once
#include <zip.h>
