// Sixteen lanes of fp32 or int32 as one value, on whatever registers the instruction set has.
// Included only by the kernel files, each compiled for one instruction set; everything is in an
// unnamed namespace so that no two of them share a symbol.
//
// Arithmetic is written with plain operators; the compiler fuses a*b+c where the set has it
// (contraction is on), so results agree bit for bit between AVX2, AVX-512 and NEON.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#define SONANT_NATIVE_BYTES 64
#elif defined(__AVX2__)
#include <immintrin.h>
#define SONANT_NATIVE_BYTES 32
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define SONANT_NATIVE_BYTES 16
#else
#define SONANT_NATIVE_BYTES 16
#endif

namespace {

constexpr int kLanes = 16;
constexpr int kParts = 64 / SONANT_NATIVE_BYTES;
constexpr int kPartLanes = SONANT_NATIVE_BYTES / 4;

typedef float NativeF __attribute__((vector_size(SONANT_NATIVE_BYTES)));
typedef int32_t NativeI __attribute__((vector_size(SONANT_NATIVE_BYTES)));

struct I16 {
  NativeI p[kParts];
};
struct F16 {
  NativeF p[kParts];
};

#define SONANT_EACH _Pragma("GCC unroll 4") for (int i = 0; i < kParts; i++)

inline F16 operator+(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] + b.p[i]; return r; }
inline F16 operator-(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] - b.p[i]; return r; }
inline F16 operator*(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] * b.p[i]; return r; }
inline F16 operator/(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] / b.p[i]; return r; }
inline F16 mul_add(F16 a, F16 b, F16 c) { F16 r; SONANT_EACH r.p[i] = a.p[i] * b.p[i] + c.p[i]; return r; }
inline F16 max(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] > b.p[i] ? a.p[i] : b.p[i]; return r; }
inline F16 min(F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = a.p[i] < b.p[i] ? a.p[i] : b.p[i]; return r; }
inline I16 operator+(I16 a, I16 b) { I16 r; SONANT_EACH r.p[i] = a.p[i] + b.p[i]; return r; }
inline I16 operator<(I16 a, I16 b) { I16 r; SONANT_EACH r.p[i] = a.p[i] < b.p[i]; return r; }
inline I16 operator&(I16 a, I16 b) { I16 r; SONANT_EACH r.p[i] = a.p[i] & b.p[i]; return r; }
inline I16 operator|(I16 a, I16 b) { I16 r; SONANT_EACH r.p[i] = a.p[i] | b.p[i]; return r; }
inline I16 operator~(I16 a) { I16 r; SONANT_EACH r.p[i] = ~a.p[i]; return r; }
// Lanes of `a` where the mask is set, of `b` elsewhere.
inline F16 select(I16 mask, F16 a, F16 b) { F16 r; SONANT_EACH r.p[i] = mask.p[i] ? a.p[i] : b.p[i]; return r; }

inline F16 broadcast(float x) { F16 r; SONANT_EACH r.p[i] = x - NativeF{}; return r; }
inline I16 broadcast_int(int32_t x) { I16 r; SONANT_EACH r.p[i] = x - NativeI{}; return r; }
inline F16 load(const float* x) { F16 r; std::memcpy(&r, x, 64); return r; }
inline void store(float* x, F16 a) { std::memcpy(x, &a, 64); }
inline I16 load_int(const int32_t* x) { I16 r; std::memcpy(&r, x, 64); return r; }
inline F16 to_float(I16 a) { F16 r; SONANT_EACH r.p[i] = __builtin_convertvector(a.p[i], NativeF); return r; }
inline I16 to_int(F16 a) { I16 r; SONANT_EACH r.p[i] = __builtin_convertvector(a.p[i], NativeI); return r; }
inline I16 lane_index() {
  I16 r;
  SONANT_EACH for (int j = 0; j < kPartLanes; j++) r.p[i][j] = i * kPartLanes + j;
  return r;
}

// Nearest integer, ties to even, for |x| < 2^22.
inline F16 round_even(F16 x) {
  const F16 magic = broadcast(12582912.0f);
  F16 r;
  SONANT_EACH {
    NativeF t = x.p[i] + magic.p[i];
    asm("" : "+m"(t));  // keeps the compiler from cancelling the two additions
    r.p[i] = t - magic.p[i];
  }
  return r;
}

// Sum and maximum over the lanes, in an order that does not depend on the register width.
inline float reduce_add(F16 a) {
  float x[kLanes];
  store(x, a);
  for (int step = 8; step > 0; step /= 2)
    for (int i = 0; i < step; i++) x[i] += x[i + step];
  return x[0];
}
inline float reduce_max(F16 a) {
  float x[kLanes];
  store(x, a);
  for (int step = 8; step > 0; step /= 2)
    for (int i = 0; i < step; i++) x[i] = x[i] > x[i + step] ? x[i] : x[i + step];
  return x[0];
}

// Element types a matrix or a cache may be stored in.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

inline F16 load(const Brain* x) {
  typedef uint16_t Narrow __attribute__((vector_size(SONANT_NATIVE_BYTES / 2)));
  typedef uint32_t Wide __attribute__((vector_size(SONANT_NATIVE_BYTES)));
  F16 r;
  SONANT_EACH {
    Narrow n;
    std::memcpy(&n, x + i * kPartLanes, sizeof n);
    const Wide w = __builtin_convertvector(n, Wide) << 16;
    std::memcpy(&r.p[i], &w, sizeof w);
  }
  return r;
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
  uint32_t bits;
  float f;
  if (exponent == 0) {
    f = static_cast<float>(fraction) * 5.9604644775390625e-8f;
    std::memcpy(&bits, &f, 4);
    bits |= sign;
  } else {
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  }
  std::memcpy(&f, &bits, 4);
  return f;
}

// Round to nearest even; values beyond the range become infinity.
inline uint16_t float_to_half(float f) {
  uint32_t x;
  std::memcpy(&x, &f, 4);
  const uint32_t sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x >= 0x47800000u) return static_cast<uint16_t>(sign | (x > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (x < 0x38800000u) {  // subnormal half: let the fp32 adder round
    float y;
    std::memcpy(&y, &x, 4);
    y += 0.5f;
    uint32_t bits;
    std::memcpy(&bits, &y, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000u));
  }
  const uint32_t odd = (x >> 13) & 1;
  return static_cast<uint16_t>(sign | ((x + 0xc8000fffu + odd) >> 13));
}

#if defined(__AVX512F__)
inline F16 load(const Half* x) {
  F16 r;
  r.p[0] = (NativeF)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  return r;
}
#elif defined(__AVX2__)
inline F16 load(const Half* x) {
  F16 r;
  SONANT_EACH r.p[i] = (NativeF)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i * 8)));
  return r;
}
#elif defined(__ARM_NEON)
inline F16 load(const Half* x) {
  F16 r;
  SONANT_EACH r.p[i] = (NativeF)vcvt_f32_f16(vld1_f16(reinterpret_cast<const float16_t*>(x + i * 4)));
  return r;
}
#else
inline F16 load(const Half* x) {
  float f[kLanes];
  for (int i = 0; i < kLanes; i++) f[i] = half_to_float(x[i].bits);
  return load(f);
}
#endif

// acc[n] += sum over 4 of w[n][4] * a[4]. `w` holds 16 x 4 int8; `a4` the four int8 activations.
// With kUnsignedWeights the stored bytes are value + 128 and the caller corrects by -128 * sum(a).
#if defined(__AVX512VNNI__)
constexpr bool kUnsignedWeights = true;
inline I16 dot4(I16 acc, const uint8_t* w, int32_t a4) {
  I16 r;
  r.p[0] = (NativeI)_mm512_dpbusd_epi32((__m512i)acc.p[0], _mm512_loadu_si512(w), _mm512_set1_epi32(a4));
  return r;
}
#elif defined(__AVX2__)
constexpr bool kUnsignedWeights = false;
inline I16 dot4(I16 acc, const uint8_t* w, int32_t a4) {
  const __m256i a = _mm256_set1_epi32(a4), magnitude = _mm256_abs_epi8(a), ones = _mm256_set1_epi16(1);
  I16 r;
  SONANT_EACH {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + i * 32));
    // |a| <= 127 and |w| <= 127, so a pair stays below 2^15 and nothing saturates.
    const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(x, a));
    r.p[i] = (NativeI)_mm256_add_epi32((__m256i)acc.p[i], _mm256_madd_epi16(pairs, ones));
  }
  return r;
}
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr bool kUnsignedWeights = false;
inline I16 dot4(I16 acc, const uint8_t* w, int32_t a4) {
  const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(a4));
  I16 r;
  SONANT_EACH r.p[i] = (NativeI)vdotq_s32((int32x4_t)acc.p[i], vld1q_s8(reinterpret_cast<const int8_t*>(w) + i * 16), a);
  return r;
}
#else
constexpr bool kUnsignedWeights = false;
inline I16 dot4(I16 acc, const uint8_t* w, int32_t a4) {
  int8_t a[4];
  std::memcpy(a, &a4, 4);
  int32_t out[kLanes];
  std::memcpy(out, &acc, 64);
  for (int n = 0; n < kLanes; n++)
    for (int j = 0; j < 4; j++) out[n] += static_cast<int8_t>(w[n * 4 + j]) * a[j];
  return load_int(out);
}
#endif

// e^x; relative error below 2e-7; 0 below -87, and x is capped at 88.
inline F16 exp(F16 x) {
  const F16 low = broadcast(-87.33654f);
  const I16 underflow = [&] { I16 m; SONANT_EACH m.p[i] = x.p[i] < low.p[i]; return m; }();
  x = max(min(x, broadcast(88.0f)), low);
  const F16 n = round_even(x * broadcast(1.44269504088896341f));
  F16 r = x - n * broadcast(0.693359375f);
  r = r + n * broadcast(2.12194440e-4f);
  F16 y = broadcast(1.9875691500e-4f);
  y = mul_add(y, r, broadcast(1.3981999507e-3f));
  y = mul_add(y, r, broadcast(8.3334519073e-3f));
  y = mul_add(y, r, broadcast(4.1665795894e-2f));
  y = mul_add(y, r, broadcast(1.6666665459e-1f));
  y = mul_add(y, r, broadcast(5.0000001201e-1f));
  y = mul_add(y, r * r, r + broadcast(1.0f));
  const I16 power = to_int(n);
  F16 scale;
  SONANT_EACH {
    const NativeI bits = (power.p[i] + 127) << 23;
    std::memcpy(&scale.p[i], &bits, sizeof bits);
  }
  return select(underflow, broadcast(0.0f), y * scale);
}

}  // namespace
