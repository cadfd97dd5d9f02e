// The kernels for: portable.
#define SONANT_KERNELS kKernelsGeneric
#define SONANT_KERNELS_LABEL "portable"
#include "backend/cpu/kernels_impl.h"
