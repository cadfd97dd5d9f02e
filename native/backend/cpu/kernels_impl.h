// The kernels themselves, once for all instruction sets. A kernel file defines SONANT_KERNELS
// (the table's name) and SONANT_KERNELS_LABEL, then includes this.
#include <cmath>
#include <type_traits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"

namespace {

using sonant::cpu::AttendArgs;
using sonant::cpu::kBlockSlots;
using sonant::cpu::kGroup;
using sonant::cpu::kTileRows;
using sonant::cpu::Quantised;

// Register tiles: rows x panels. One row uses many panels to hide the latency of the
// accumulators; several rows reuse each weight that was loaded.
#if SONANT_NATIVE_BYTES == 64
constexpr int kSingleP = 8, kTileM = 6, kTileP = 4, kTileP8 = 2, kTileM8 = 6;
#else
constexpr int kSingleP = 4, kTileM = 3, kTileP = 2, kTileP8 = 1, kTileM8 = 2;
#endif

// acc += a[i][.] * w over kk steps. Weight of step s, panel p: w + s * step + p * panel.
template <int M, int P, class T>
inline void float_tile(const float* a, int lda, int kk, const T* w, size_t step, size_t panel, F16 (&acc)[M][P]) {
  for (int s = 0; s < kk; s++) {
    F16 wv[P];
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) wv[p] = load(w + s * step + p * panel);
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {
      const F16 x = broadcast(a[static_cast<size_t>(i) * lda + s]);
      _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) acc[i][p] = mul_add(x, wv[p], acc[i][p]);
    }
  }
}

template <int M, int P, class T>
inline void gemm_tile(const float* a, int lda, int k, const T* w, int p0, float* out, int ldo) {
  F16 acc[M][P];
  _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) acc[i][p] = broadcast(0.0f);
  const size_t panel = static_cast<size_t>(k) * kLanes;
  float_tile<M, P>(a, lda, k, w + p0 * panel, kLanes, panel, acc);
  _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++)
      store(out + static_cast<size_t>(i) * ldo + (p0 + p) * kLanes, acc[i][p]);
}

template <int M, class T>
inline void gemm_rows(const float* a, int lda, int k, const T* w, int p0, int p1, float* out, int ldo) {
  constexpr int P = M == 1 ? kSingleP : kTileP;
  int p = p0;
  for (; p + P <= p1; p += P) gemm_tile<M, P>(a, lda, k, w, p, out, ldo);
  for (; p < p1; p++) gemm_tile<M, 1>(a, lda, k, w, p, out, ldo);
}

// Panels in the outer loop so that a group of panels stays in the first-level cache for all rows.
template <class T>
void gemm(const float* a, int lda, int m, int k, const T* w, int p0, int p1, float* out, int ldo) {
  if (m == 1) return gemm_rows<1>(a, lda, k, w, p0, p1, out, ldo);
  for (int p = p0; p < p1; p += kTileP) {
    const int end = p + kTileP < p1 ? p + kTileP : p1;
    int i = 0;
    for (; i + kTileM <= m; i += kTileM)
      gemm_rows<kTileM>(a + static_cast<size_t>(i) * lda, lda, k, w, p, end, out + static_cast<size_t>(i) * ldo, ldo);
    for (; i + 2 <= m; i += 2)
      gemm_rows<2>(a + static_cast<size_t>(i) * lda, lda, k, w, p, end, out + static_cast<size_t>(i) * ldo, ldo);
    for (; i < m; i++)
      gemm_rows<1>(a + static_cast<size_t>(i) * lda, lda, k, w, p, end, out + static_cast<size_t>(i) * ldo, ldo);
  }
}

void gemm_f32(const float* a, int lda, int m, int k, const float* w, int p0, int p1, float* out, int ldo) {
  gemm(a, lda, m, k, w, p0, p1, out, ldo);
}
void gemm_bf16(const float* a, int lda, int m, int k, const uint16_t* w, int p0, int p1, float* out, int ldo) {
  gemm(a, lda, m, k, reinterpret_cast<const Brain*>(w), p0, p1, out, ldo);
}

// int8: the integer sum of a group is exact; groups are added in fp32 in ascending order.
template <int M, int P>
inline void int8_tile(const Quantised& a, int row, const uint8_t* w, const float* scale, int p0, float* out, int ldo) {
  F16 sum[M][P];
  _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) sum[i][p] = broadcast(0.0f);
  const size_t panel_bytes = static_cast<size_t>(a.groups) * kGroup * kLanes;
  for (int g = 0; g < a.groups; g++) {
    I16 acc[M][P];
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {
      const I16 start = broadcast_int(kUnsignedWeights ? a.offset[(row + i) * a.groups + g] : 0);
      _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) acc[i][p] = start;
    }
    const uint8_t* wg = w + p0 * panel_bytes + static_cast<size_t>(g) * kGroup * kLanes;
    const int8_t* ag = a.q + static_cast<size_t>(row) * a.ld + g * kGroup;
    for (int s = 0; s < kGroup / 4; s++) {
      _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {
        int32_t a4;
        std::memcpy(&a4, ag + static_cast<size_t>(i) * a.ld + s * 4, 4);
        _Pragma("GCC unroll 8") for (int p = 0; p < P; p++)
          acc[i][p] = dot4(acc[i][p], wg + p * panel_bytes + s * 4 * kLanes, a4);
      }
    }
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) {
      const F16 ws = load(scale + (static_cast<size_t>(p0 + p) * a.groups + g) * kLanes);
      _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
        sum[i][p] = mul_add(to_float(acc[i][p]) * ws, broadcast(a.scale[(row + i) * a.groups + g]), sum[i][p]);
    }
  }
  _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
    _Pragma("GCC unroll 8") for (int p = 0; p < P; p++)
      store(out + static_cast<size_t>(row + i) * ldo + (p0 + p) * kLanes, sum[i][p]);
}

template <int M, int P>
inline void int8_rows(const Quantised& a, int row, const uint8_t* w, const float* scale, int p0, int p1, float* out, int ldo) {
  int p = p0;
  for (; p + P <= p1; p += P) int8_tile<M, P>(a, row, w, scale, p, out, ldo);
  for (; p < p1; p++) int8_tile<M, 1>(a, row, w, scale, p, out, ldo);
}

void gemm_i8(const Quantised& a, int m, const uint8_t* w, const float* scale, int p0, int p1, float* out, int ldo) {
  if (m == 1) return int8_rows<1, kSingleP>(a, 0, w, scale, p0, p1, out, ldo);
  if (m == 2) return int8_rows<2, kSingleP / 2>(a, 0, w, scale, p0, p1, out, ldo);
  for (int p = p0; p < p1; p += kTileP8) {
    const int end = p + kTileP8 < p1 ? p + kTileP8 : p1;
    int i = 0;
    for (; i + kTileM8 <= m; i += kTileM8) int8_rows<kTileM8, kTileP8>(a, i, w, scale, p, end, out, ldo);
    if constexpr (kTileM8 > 4)
      for (; i + 4 <= m; i += 4) int8_rows<4, kTileP8>(a, i, w, scale, p, end, out, ldo);
    for (; i < m; i++) int8_rows<1, kTileP8>(a, i, w, scale, p, end, out, ldo);
  }
}

void quantise(const float* x, int n, const Quantised& out, int row) {
  int8_t* q = out.q + static_cast<size_t>(row) * out.ld;
  for (int g = 0; g < out.groups; g++) {
    float group[kGroup];
    const int have = n - g * kGroup < kGroup ? n - g * kGroup : kGroup;
    std::memcpy(group, x + g * kGroup, static_cast<size_t>(have) * 4);
    for (int i = have; i < kGroup; i++) group[i] = 0.0f;
    F16 top = broadcast(0.0f);
    for (int i = 0; i < kGroup; i += kLanes) {
      const F16 v = load(group + i);
      top = max(top, max(v, broadcast(0.0f) - v));
    }
    const float peak = reduce_max(top);
    const F16 inverse = broadcast(peak > 0.0f ? 127.0f / peak : 0.0f);
    int32_t values[kGroup];
    int32_t total = 0;
    for (int i = 0; i < kGroup; i += kLanes) {
      const I16 v = to_int(round_even(load(group + i) * inverse));
      std::memcpy(values + i, &v, 64);
    }
    for (int i = 0; i < kGroup; i++) {
      q[g * kGroup + i] = static_cast<int8_t>(values[i]);
      total += values[i];
    }
    out.scale[row * out.groups + g] = peak / 127.0f;
    out.offset[row * out.groups + g] = -128 * total;
  }
}

void layer_norm(const float* x, const float* w, const float* b, int n, float eps, float* out) {
  const int full = n / kLanes * kLanes;
  F16 total = broadcast(0.0f);
  for (int i = 0; i < full; i += kLanes) total = total + load(x + i);
  float sum = reduce_add(total);
  for (int i = full; i < n; i++) sum += x[i];
  const float mean = sum / static_cast<float>(n);
  F16 squares = broadcast(0.0f);
  for (int i = 0; i < full; i += kLanes) {
    const F16 d = load(x + i) - broadcast(mean);
    squares = mul_add(d, d, squares);
  }
  float variance = reduce_add(squares);
  for (int i = full; i < n; i++) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<float>(n);
  const float inverse = 1.0f / std::sqrt(variance + eps);
  for (int i = 0; i < full; i += kLanes)
    store(out + i, mul_add((load(x + i) - broadcast(mean)) * broadcast(inverse), load(w + i), load(b + i)));
  for (int i = full; i < n; i++) out[i] = (x[i] - mean) * inverse * w[i] + b[i];
}

// Applies f to n values in steps of 16; the tail goes through a padded copy so that every
// element sees the same arithmetic.
template <class F>
inline void map16(float* x, const float* y, int n, F f) {
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, f(load(x + i), y ? load(y + i) : broadcast(0.0f)));
  if (i < n) {
    float tx[kLanes] = {}, ty[kLanes] = {};
    std::memcpy(tx, x + i, static_cast<size_t>(n - i) * 4);
    if (y) std::memcpy(ty, y + i, static_cast<size_t>(n - i) * 4);
    store(tx, f(load(tx), load(ty)));
    std::memcpy(x + i, tx, static_cast<size_t>(n - i) * 4);
  }
}

void add_bias(float* x, const float* bias, int n) {
  map16(x, bias, n, [](F16 v, F16 b) { return v + b; });
}

void bias_gelu_tanh(float* x, const float* bias, int n) {
  map16(x, bias, n, [](F16 v, F16 b) {
    v = v + b;
    // 0.5 (1 + tanh u) = 1 - 1 / (e^(2u) + 1)
    const F16 u2 = v * mul_add(v * v, broadcast(2 * 0.7978845608f * 0.044715f), broadcast(2 * 0.7978845608f));
    const F16 one = broadcast(1.0f);
    return v * (one - one / (exp(u2) + one));
  });
}

void bias_gelu_erf(float* x, const float* bias, int n) {
  map16(x, bias, n, [](F16 v, F16 b) {
    v = v + b;
    // erf by Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7
    const F16 zero = broadcast(0.0f), one = broadcast(1.0f);
    const F16 z = max(v, zero - v) * broadcast(0.70710678118654752f);
    const F16 t = one / mul_add(z, broadcast(0.3275911f), one);
    F16 y = broadcast(1.061405429f);
    y = mul_add(y, t, broadcast(-1.453152027f));
    y = mul_add(y, t, broadcast(1.421413741f));
    y = mul_add(y, t, broadcast(-0.284496736f));
    y = mul_add(y, t, broadcast(0.254829592f));
    const F16 tail = y * t * exp(zero - z * z);  // 1 - erf(z)
    const F16 half = broadcast(0.5f);
    I16 negative;
    SONANT_EACH negative.p[i] = v.p[i] < zero.p[i];
    return v * select(negative, half * tail, one - half * tail);
  });
}

void residual(float* x, const float* y, const float* bias, const float* scale, int n) {
  for (int i = 0; i < n; i++) x[i] += (y[i] + (bias ? bias[i] : 0.0f)) * (scale ? scale[i] : 1.0f);
}

float dot(const float* a, const float* b, int n) {
  F16 total = broadcast(0.0f);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) total = mul_add(load(a + i), load(b + i), total);
  float sum = reduce_add(total);
  for (; i < n; i++) sum += a[i] * b[i];
  return sum;
}

void rope(float* x, const float* table, int hd) {
  for (int i = 0; i < hd; i += 2) {
    const float even = x[i], odd = x[i + 1], c = table[i], s = table[i + 1];
    x[i] = even * c - odd * s;
    x[i + 1] = odd * c + even * s;
  }
}

inline void narrow(float f, float& out) { out = f; }
inline void narrow(float f, Half& out) { out.bits = float_to_half(f); }

template <class T>
void put(const float* k, const float* v, int hd, void* head, int slot) {
  T* keys = static_cast<T*>(head) + static_cast<size_t>(slot / kLanes) * hd * kLanes + slot % kLanes;
  T* values = static_cast<T*>(head) + static_cast<size_t>(kBlockSlots) * hd + static_cast<size_t>(slot) * hd;
  for (int d = 0; d < hd; d++) narrow(k[d], keys[d * kLanes]);
  for (int d = 0; d < hd; d++) narrow(v[d], values[d]);
}

template <int M, class T>
void attend_rows(const AttendArgs& a) {
  constexpr int P = M == 1 ? 4 : (kTileP8 < 2 ? 1 : 2);
  const int hd = a.hd, blocks = (a.slots + kBlockSlots - 1) / kBlockSlots;
  const size_t ld = static_cast<size_t>(blocks) * kBlockSlots;
  for (int b = 0; b < blocks; b++) {
    const T* keys = reinterpret_cast<const T*>(static_cast<const char*>(a.blocks[b]) + a.head_offset);
    const int panels = a.slots - b * kBlockSlots >= kBlockSlots ? 4 : (a.slots - b * kBlockSlots + kLanes - 1) / kLanes;
    for (int p = 0; p < panels; p += P) {
      F16 acc[M][P];
      _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
        _Pragma("GCC unroll 4") for (int j = 0; j < P; j++) acc[i][j] = broadcast(0.0f);
      float_tile<M, P>(a.q, hd, hd, keys + static_cast<size_t>(p) * hd * kLanes, kLanes, static_cast<size_t>(hd) * kLanes, acc);
      _Pragma("GCC unroll 8") for (int i = 0; i < M; i++)
        _Pragma("GCC unroll 4") for (int j = 0; j < P; j++)
          store(a.scores + i * ld + b * kBlockSlots + (p + j) * kLanes, acc[i][j]);
    }
  }
  const int vectors = (a.slots + kLanes - 1) / kLanes;
  float inverse[M];
  for (int i = 0; i < M; i++) {
    float* s = a.scores + i * ld;
    const I16 lo = broadcast_int(a.lo[i]), hi = broadcast_int(a.hi[i]), end = broadcast_int(a.slots), lanes = lane_index();
    const bool wrapped = a.lo[i] > a.hi[i];
    F16 top = broadcast(-INFINITY);
    for (int v = 0; v < vectors; v++) {
      const I16 slot = lanes + broadcast_int(v * kLanes);
      const I16 below = slot < hi, above = ~(slot < lo) & (slot < end);
      const F16 x = select(wrapped ? below | above : below & above, load(s + v * kLanes), broadcast(-INFINITY));
      store(s + v * kLanes, x);
      top = max(top, x);
    }
    const F16 peak = broadcast(reduce_max(top));
    F16 total = broadcast(0.0f);
    for (int v = 0; v < vectors; v++) {
      const F16 e = exp(load(s + v * kLanes) - peak);
      store(s + v * kLanes, e);
      total = total + e;
    }
    inverse[i] = 1.0f / reduce_add(total);
  }
  for (int d0 = 0; d0 < hd; d0 += 4 * kLanes) {
    const auto values = [&](auto tag) {
      constexpr int N = decltype(tag)::value;
      // Fewer rows at a time than for the keys: N panels of each are live together.
      constexpr int R = M == 1 ? 1 : (SONANT_NATIVE_BYTES == 64 ? 4 : 1);
      for (int i0 = 0; i0 < M; i0 += R) {
        F16 acc[R][N];
        _Pragma("GCC unroll 8") for (int i = 0; i < R; i++)
          _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] = broadcast(0.0f);
        for (int b = 0; b < blocks; b++) {
          const T* base = reinterpret_cast<const T*>(static_cast<const char*>(a.blocks[b]) + a.head_offset) +
                          static_cast<size_t>(kBlockSlots) * hd + d0;
          const int n = a.slots - b * kBlockSlots < kBlockSlots ? a.slots - b * kBlockSlots : kBlockSlots;
          float_tile<R, N>(a.scores + i0 * ld + b * kBlockSlots, static_cast<int>(ld), n, base, hd, kLanes, acc);
        }
        _Pragma("GCC unroll 8") for (int i = 0; i < R; i++)
          _Pragma("GCC unroll 4") for (int j = 0; j < N; j++)
            store(a.out + static_cast<size_t>(i0 + i) * hd + d0 + j * kLanes, acc[i][j] * broadcast(inverse[i0 + i]));
      }
    };
    const int left = (hd - d0) / kLanes;
    if (left >= 4) values(std::integral_constant<int, 4>{});
    else if (left == 3) values(std::integral_constant<int, 3>{});
    else if (left == 2) values(std::integral_constant<int, 2>{});
    else values(std::integral_constant<int, 1>{});
  }
}

template <class T>
void attend(const AttendArgs& a) {
  static_assert(kTileRows == 8);
  // Rows beyond the last full tile run one by one; each row's arithmetic is the same either way.
  if (a.rows == kTileRows) return attend_rows<kTileRows, T>(a);
  AttendArgs part = a;
  int i = 0;
  const auto next = [&](int n) {
    part.q = a.q + static_cast<size_t>(i) * a.hd;
    part.out = a.out + static_cast<size_t>(i) * a.hd;
    for (int j = 0; j < n; j++) part.lo[j] = a.lo[i + j], part.hi[j] = a.hi[i + j];
    i += n;
  };
  while (i + 4 <= a.rows) next(4), attend_rows<4, T>(part);
  while (i < a.rows) next(1), attend_rows<1, T>(part);
}

void put_f32(const float* k, const float* v, int hd, void* head, int slot) { put<float>(k, v, hd, head, slot); }
void put_half(const float* k, const float* v, int hd, void* head, int slot) { put<Half>(k, v, hd, head, slot); }
void attend_f32(const AttendArgs& a) { attend<float>(a); }
void attend_half(const AttendArgs& a) { attend<Half>(a); }

}  // namespace

namespace sonant::cpu {

const Kernels SONANT_KERNELS = {
    SONANT_KERNELS_LABEL, kUnsignedWeights, gemm_f32,   gemm_bf16, gemm_i8, quantise, layer_norm, add_bias, bias_gelu_tanh,
    bias_gelu_erf,        residual,         dot,        rope,      put_f32, put_half, attend_f32, attend_half,
};

}  // namespace sonant::cpu
