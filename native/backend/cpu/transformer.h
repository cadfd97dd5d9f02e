// One pre-norm transformer block over a batch of rows, run by all members of a team together.
// The language model's global and local blocks and the codec's are the same code: biases, layer
// scales and the form of GELU differ.
#pragma once

#include <algorithm>
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

// A batch's rows, and the tiles of consecutive rows that share a cache. Nothing of it may change
// while a team runs but the places that rows point to.
struct RowSet {
  void assign(std::vector<Row> batch);

  std::vector<Row> rows;
  struct Tile {
    int first, count;
  };
  std::vector<Tile> tiles;
  bool shared_caches = false;  // some cache has more than one row
  int size() const { return static_cast<int>(rows.size()); }
};

// Memory for one batch; owned by a model, reused from step to step.
struct Workspace {
  // Before a run: room for m rows and for rows that see `slots` slots.
  void reserve(const BlockShape& shape, int m, int slots, int members);

  Buffer<float> x;    // [m][ldx], the residual stream
  int ldx = 0;
  Buffer<float> qkv, tmp;  // [m][ld]
  int ld_qkv = 0, ld_tmp = 0;
  ActivationBuffer norm, attention, hidden;
  struct Own {  // each member's
    ActivationBuffer norm, attention, hidden;
    Buffer<float> q, k, scores, out;
  };
  std::vector<Own> own;
  float* row(int i) { return x.data() + static_cast<size_t>(i) * ldx; }
};

struct Context {
  const Kernels& kernels;
  ThreadTeam& team;
};

using Member = ThreadTeam::Member;

// Rows up to this many are normalised and quantised by every member for itself: cheaper than a phase.
inline constexpr int kRedundantRows = 2;

// The rows [m][n] that go into a matrix: LayerNorm of `data` when norm_w is given, else `data` itself.
struct Input {
  const float* data = nullptr;
  int ld = 0, m = 0, n = 0;
  const Vector* norm_w = nullptr;
  const Vector* norm_b = nullptr;
  float eps = 0;
};

// Panels of a matrix that make one task.
inline int panels_per_task(int panels, int members) {
  return std::clamp(panels / (2 * members) / 2 * 2, 2, 8);
}

// Phases that multiply: prepares the input (in `own` by each member for few rows, else in `shared`), then
// out [m][ldo] = input x linear, and done(begin, end) for the columns of each task.
template <class Done>
void multiply(const Context& context, Member& me, const Input& input, const Linear& linear, ActivationBuffer& own,
              ActivationBuffer& shared, float* out, int ldo, Done&& done) {
  const bool as_is = !input.norm_w && !linear.quantised();
  const bool redundant = input.m <= kRedundantRows;
  ActivationBuffer& target = redundant ? own : shared;
  const auto prepare_row = [&](int i) {
    const float* row = input.data + static_cast<size_t>(i) * input.ld;
    if (input.norm_w) {
      context.kernels.layer_norm(row, input.norm_w->data(), input.norm_b->data(), input.n, input.eps, target.row(i));
    } else if (row != target.row(i)) {
      std::memcpy(target.row(i), row, static_cast<size_t>(input.n) * 4);
    }
    if (linear.quantised()) target.quantise(context.kernels, i);
  };
  if (!as_is && !redundant) context.team.phase(me, input.m, prepare_row);
  bool ready = as_is || !redundant;
  const Activations in = as_is ? Activations{input.data, input.ld, {}} : target.view();
  const int panels = linear.panels(), step = panels_per_task(panels, context.team.size());
  context.team.phase(me, (panels + step - 1) / step, [&](int task) {
    // Only with a task in hand is it certain that nobody writes the input meanwhile.
    for (int i = 0; !ready && i < input.m; i++) prepare_row(i);
    ready = true;
    const int begin = task * step, end = std::min(panels, begin + step);
    linear.apply(in, input.m, begin, end, out, ldo);
    done(begin * kPanel, std::min(end * kPanel, linear.n()));
  });
}

// Runs on every member: the rows of ws.x through one block, in phases.
void run_block(const Context& context, Member& me, const BlockShape& shape, const Block& block, int layer, const RopeTable& rope,
               const RowSet& set, Workspace& ws);

}  // namespace sonant::cpu
