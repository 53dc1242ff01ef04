// libbz2's streams, nothing else: what is loaded when it is first used (CLibraries), and on Apple platforms linked.
#pragma once
#include <bzlib.h>
