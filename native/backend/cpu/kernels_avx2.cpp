// The kernels for: AVX2.
#define SONANT_KERNELS kKernelsAvx2
#define SONANT_KERNELS_LABEL "AVX2"
#include "backend/cpu/kernels_impl.h"
