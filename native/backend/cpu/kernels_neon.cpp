// The kernels for: NEON.
#define SONANT_KERNELS kKernelsNeon
#define SONANT_KERNELS_LABEL "NEON"
#include "backend/cpu/kernels_impl.h"
