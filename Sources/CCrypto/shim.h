// libcrypto's message digests, nothing else.
#pragma once
#include <openssl/evp.h>
