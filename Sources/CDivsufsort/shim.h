// libdivsufsort's C API: suffix arrays.
#pragma once
#include <divsufsort.h>
