// One pre-norm transformer block over a batch of rows, run by all members of a team together.
// The language model's global and local blocks and the codec's are the same code: biases, layer
// scales and the form of GELU differ.
#pragma once

#include <vector>

#include "backend/cpu/kv_cache.h"
#include "backend/cpu/linear.h"
#include "backend/cpu/thread_team.h"

namespace sonant::cpu {

// Numbers [k] that a block needs in fp32; empty when the model has none.
using Vector = std::vector<float>;

struct Block {
  Vector norm1_w, norm1_b, norm2_w, norm2_b;
  Linear qkv, proj, fc_in, fc_out;
  Vector qkv_bias, proj_bias, fc_in_bias, fc_out_bias;  // empty: none
  Vector scale1, scale2;                                // empty: none
};

struct BlockShape {
  int d = 0, heads = 0, head_dim = 0, ff = 0;
  float eps = 1e-5f;
  bool erf_gelu = false;  // else the tanh form
  int padded_head() const { return (head_dim + 15) / 16 * 16; }
};

// cos and sin of position * base^(-2i / head_dim), in fp32 like the original, grown on demand.
class RopeTable {
 public:
  RopeTable(int head_dim, float base) : head_dim_(head_dim), base_(base) {}
  void reserve(int positions);  // not while a team runs
  const float* at(int position) const { return table_.data() + static_cast<size_t>(position) * head_dim_; }

 private:
  int head_dim_;
  float base_;
  std::vector<float> table_;
};

// Where a row's key and value go and what its query sees (see AttendArgs for lo and hi).
struct Row {
  KvCache* cache = nullptr;
  int position = 0;  // for the rotation
  int slot = 0;
  int lo = 0, hi = 0, slots = 0;
};

// Activations of `m` rows [m][k], with the quantised twin.
class ActivationBuffer {
 public:
  void reserve(int m, int k);
  float* row(int i) { return values_.data() + static_cast<size_t>(i) * ld_; }
  void quantise(const Kernels& kernels, int i) { kernels.quantise(row(i), k_, view_.quantised, i); }
  const Activations& view() const { return view_; }
  int ld() const { return ld_; }

 private:
  int k_ = 0, ld_ = 0;
  Buffer<float> values_, scale_;
  Buffer<int8_t> q_;
  Buffer<int32_t> offset_;
  Activations view_;
};

// Memory for one batch; owned by a model, reused from step to step.
struct Workspace {
  // Before a run: room for m rows and for rows that see `slots` slots.
  void reserve(const BlockShape& shape, int m, int slots, int members);
  // Groups consecutive rows of one cache into tiles; call whenever the rows change.
  void set_rows(const Row* rows, int m);

  int m = 0;
  const Row* rows = nullptr;
  struct Tile {
    int first, count;
  };
  std::vector<Tile> tiles;
  bool shared_caches = false;  // some cache has more than one row

  Buffer<float> x;    // [m][ldx], the residual stream
  int ldx = 0;
  Buffer<float> qkv, tmp;  // [m][ld]
  int ld_qkv = 0, ld_tmp = 0;
  ActivationBuffer norm, attention, hidden;
  struct Member {  // each member's own
    ActivationBuffer norm, attention, hidden;
    Buffer<float> q, k, scores, out;
  };
  std::vector<Member> members;
  float* row(int i) { return x.data() + static_cast<size_t>(i) * ldx; }
};

struct Context {
  const Kernels& kernels;
  ThreadTeam& team;
};

// Rows up to this many are normalised and quantised by every member for itself: cheaper than a barrier.
inline constexpr int kRedundantRows = 2;

// Normalises rows [0, m) of `source` (LayerNorm when w is given) and quantises them for `next`.
// Returns the activations to multiply; passes a barrier when the rows were divided.
const Activations& prepare(const Context& context, int member, const float* source, int ld, int m, int n, const Vector* w,
                           const Vector* b, float eps, const Linear& next, ActivationBuffer& own, ActivationBuffer& shared);

// Runs on every member. On entry all rows of ws.x are complete and visible to all, and so on return.
void run_block(const Context& context, int member, const BlockShape& shape, const Block& block, int layer, const RopeTable& rope,
               Workspace& ws);

}  // namespace sonant::cpu
