// Libraries that are loaded when they are first used: most of what castree does needs none of them, and every start would pay
// for linking them. On Apple platforms, where that costs nothing, they are linked.
//
// Each function is NULL if its library is there, and else what the system says of it (dlerror(3)). Any thread may ask. The
// functions of a library that is not there return 0, or the error that it did not start.
#pragma once

const char *castree_load_curl(void);
const char *castree_load_archive(void);
const char *castree_load_divsufsort(void);
const char *castree_load_bzip2(void);
