// The arithmetic of the CPU backend as a table of functions, one table for each instruction set.
// All work on a slice that the caller chose, never start threads and never allocate.
//
// Shapes: `m` rows of activations; a matrix [n][k] is packed in panels of 16 outputs:
//   fp32, bf16: [panel][k][16]
//   int8:       [panel][group of 64 k][16 groups of 4 k][16 outputs][4], scale [panel][group][16]
// Every output is accumulated over k in ascending order by one accumulator, so it does not
// depend on m, on the panel range or on the instruction set (where that has fused multiply-add).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonant::cpu {

inline constexpr int kPanel = 16;      // outputs in a panel
inline constexpr int kGroup = 64;      // columns that share an int8 scale
inline constexpr int kBlockSlots = 64; // positions in a key/value block
inline constexpr int kTileRows = 8;    // queries that share one pass over the keys

enum class CacheType { kFp32, kHalf };

// Activations quantised by row and group: q [m][ld], scale [m][groups], offset [m][groups]
// (offset = -128 * sum of q in the group; used when the weights are stored with an offset).
struct Quantised {
  int8_t* q = nullptr;
  float* scale = nullptr;
  int32_t* offset = nullptr;
  int ld = 0;
  int groups = 0;
};

// Queries of one head against one cache. Slot s lives in block s / 64; a block of one head is
// keys [4 panels][hd][16 slots] then values [64 slots][hd]. Row i sees the slots lo[i] <= s < hi[i],
// or, when lo[i] > hi[i], those with s >= lo[i] or s < hi[i] (a ring that has wrapped).
struct AttendArgs {
  int rows = 0;                      // 1 .. kTileRows
  int hd = 0;                        // multiple of 16
  int slots = 0;                     // slots that may be visible; the rest is not read
  const void* const* blocks = nullptr;  // base of each block
  size_t head_offset = 0;            // bytes from a block's base to this head
  const float* q = nullptr;          // [rows][hd], already scaled
  int lo[kTileRows] = {}, hi[kTileRows] = {};
  float* scores = nullptr;           // scratch [rows][slots rounded up to 64]
  float* out = nullptr;              // [rows][hd]
};

struct Kernels {
  const char* name;
  bool unsigned_weights;  // int8 panels hold value + 128

  // out[i][panel * 16 ...] for panels [p0, p1); ldo is the row stride of out.
  void (*gemm_f32)(const float* a, int lda, int m, int k, const float* w, int p0, int p1, float* out, int ldo);
  void (*gemm_bf16)(const float* a, int lda, int m, int k, const uint16_t* w, int p0, int p1, float* out, int ldo);
  void (*gemm_i8)(const Quantised& a, int m, const uint8_t* w, const float* scale, int p0, int p1, float* out, int ldo);
  // x [n] to row `row` of `out`; columns past n are zero.
  void (*quantise)(const float* x, int n, const Quantised& out, int row);

  void (*layer_norm)(const float* x, const float* w, const float* b, int n, float eps, float* out);
  void (*add_bias)(float* x, const float* bias, int n);                       // x += bias
  void (*bias_gelu_tanh)(float* x, const float* bias, int n);                 // bias may be null
  void (*bias_gelu_erf)(float* x, const float* bias, int n);
  // x += (y + bias) * scale; bias and scale may be null.
  void (*residual)(float* x, const float* y, const float* bias, const float* scale, int n);
  float (*dot)(const float* a, const float* b, int n);
  // Rotates adjacent pairs in place; table holds cos, sin alternating, [hd / 2][2].
  void (*rope)(float* x, const float* table, int hd);

  // One position's key and value [hd] into slot `slot` (0..63) of a block's head.
  void (*put_f32)(const float* k, const float* v, int hd, void* head, int slot);
  void (*put_half)(const float* k, const float* v, int hd, void* head, int slot);
  void (*attend_f32)(const AttendArgs& args);
  void (*attend_half)(const AttendArgs& args);
};

extern const Kernels kKernelsGeneric;
#if defined(__x86_64__)
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
#elif defined(__aarch64__)
extern const Kernels kKernelsNeon;
#endif

// The best table this machine can run, or the named one ("avx512", "avx2", "neon", "generic").
// Throws Error("unsupported") when the machine lacks the named set.
const Kernels& select_kernels(const char* name);

}  // namespace sonant::cpu
