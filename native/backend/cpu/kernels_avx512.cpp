// The kernels for: AVX-512 VNNI.
#define SONANT_KERNELS kKernelsAvx512
#define SONANT_KERNELS_LABEL "AVX-512 VNNI"
#include "backend/cpu/kernels_impl.h"
