#include "backend/cpu/transformer.h"

#include <algorithm>
#include <cmath>

namespace sonant::cpu {

void RopeTable::reserve(int positions) {
  int have = static_cast<int>(table_.size()) / head_dim_;
  if (have >= positions) return;
  positions = std::max(positions, have + 256);
  table_.resize(static_cast<size_t>(positions) * head_dim_);
  for (int i = 0; i < head_dim_ / 2; i++) {
    const float frequency = 1.0f / std::pow(base_, static_cast<float>(2 * i) / static_cast<float>(head_dim_));
    for (int p = have; p < positions; p++) {
      const float angle = static_cast<float>(p) * frequency;
      table_[static_cast<size_t>(p) * head_dim_ + 2 * i] = std::cos(angle);
      table_[static_cast<size_t>(p) * head_dim_ + 2 * i + 1] = std::sin(angle);
    }
  }
}

void ActivationBuffer::reserve(int m, int k) {
  k_ = k;
  const int groups = (k + kGroup - 1) / kGroup;
  ld_ = groups * kGroup;
  values_.reserve(static_cast<size_t>(m) * ld_);
  q_.reserve(static_cast<size_t>(m) * ld_);
  scale_.reserve(static_cast<size_t>(m) * groups);
  offset_.reserve(static_cast<size_t>(m) * groups);
  view_ = {values_.data(), ld_, {q_.data(), scale_.data(), offset_.data(), ld_, groups}};
}

void Workspace::reserve(const BlockShape& shape, int m, int slots, int members) {
  const auto pad = [](int n) { return (n + kPanel - 1) / kPanel * kPanel; };
  const int hd = shape.padded_head();
  ldx = pad(shape.d);
  ld_qkv = pad(3 * shape.d);
  ld_tmp = pad(std::max(shape.d, shape.ff));
  x.reserve(static_cast<size_t>(m) * ldx);
  qkv.reserve(static_cast<size_t>(m) * ld_qkv);
  tmp.reserve(static_cast<size_t>(m) * ld_tmp);
  norm.reserve(m, shape.d);
  attention.reserve(m, shape.d);
  hidden.reserve(m, shape.ff);
  own.resize(static_cast<size_t>(members));
  const size_t padded_slots = static_cast<size_t>(slots + kBlockSlots - 1) / kBlockSlots * kBlockSlots;
  for (Own& one : own) {
    one.norm.reserve(kRedundantRows, shape.d);
    one.attention.reserve(kRedundantRows, shape.d);
    one.hidden.reserve(kRedundantRows, shape.ff);
    one.q.reserve(static_cast<size_t>(kTileRows) * hd);
    one.k.reserve(static_cast<size_t>(2) * hd);
    one.out.reserve(static_cast<size_t>(kTileRows) * hd);
    one.scores.reserve(kTileRows * padded_slots);
  }
}

void RowSet::assign(std::vector<Row> batch) {
  rows = std::move(batch);
  tiles.clear();
  shared_caches = false;
  for (int i = 0; i < size();) {
    int end = i + 1;
    while (end < size() && end - i < kTileRows && rows[end].cache == rows[i].cache) end++;
    shared_caches |= end - i > 1 || (i > 0 && rows[i - 1].cache == rows[i].cache);
    tiles.push_back({i, end - i});
    i = end;
  }
}

namespace {

// What the tasks of one block's attention work on.
struct Attention {
  const Context& context;
  const BlockShape& shape;
  const int layer;
  const RopeTable& rope;
  const RowSet& set;
  Workspace& ws;

  void put(Workspace::Own& own, RowSet::Tile tile, int head) const;
  void attend(Workspace::Own& own, RowSet::Tile tile, int head) const;
};

// Rotated keys, and values, of a tile's rows for one head into the caches.
void Attention::put(Workspace::Own& own, RowSet::Tile tile, int head) const {
  const int hd = shape.padded_head();
  float* k = own.k.data();
  float* v = k + hd;
  for (int i = tile.first; i < tile.first + tile.count; i++) {
    const Row& row = set.rows[i];
    const float* qkv = ws.qkv.data() + static_cast<size_t>(i) * ws.ld_qkv + head * shape.head_dim;
    std::memcpy(k, qkv + shape.d, static_cast<size_t>(shape.head_dim) * 4);
    std::memcpy(v, qkv + 2 * shape.d, static_cast<size_t>(shape.head_dim) * 4);
    context.kernels.rope(k, rope.at(row.position), shape.head_dim);
    const auto store = row.cache->shape().type == CacheType::kFp32 ? context.kernels.put_f32 : context.kernels.put_half;
    store(k, v, hd, row.cache->head(layer, head, row.slot), row.slot % kBlockSlots);
  }
}

void Attention::attend(Workspace::Own& own, RowSet::Tile tile, int head) const {
  const int hd = shape.padded_head();
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  AttendArgs args;
  args.rows = tile.count;
  args.hd = hd;
  const KvCache& cache = *set.rows[tile.first].cache;
  args.blocks = cache.blocks();
  args.head_offset = cache.head_offset(layer, head);
  args.q = own.q.data();
  args.scores = own.scores.data();
  args.out = own.out.data();
  for (int i = 0; i < tile.count; i++) {
    const Row& row = set.rows[tile.first + i];
    args.slots = std::max(args.slots, row.slots);
    args.lo[i] = row.lo;
    args.hi[i] = row.hi;
    float* q = own.q.data() + static_cast<size_t>(i) * hd;
    std::memcpy(q, ws.qkv.data() + static_cast<size_t>(tile.first + i) * ws.ld_qkv + head * shape.head_dim,
                static_cast<size_t>(shape.head_dim) * 4);
    context.kernels.rope(q, rope.at(row.position), shape.head_dim);
    for (int d = 0; d < shape.head_dim; d++) q[d] *= scale;
  }
  (cache.shape().type == CacheType::kFp32 ? context.kernels.attend_f32 : context.kernels.attend_half)(args);
  for (int i = 0; i < tile.count; i++)
    std::memcpy(ws.attention.row(tile.first + i) + head * shape.head_dim, own.out.data() + static_cast<size_t>(i) * hd,
                static_cast<size_t>(shape.head_dim) * 4);
}

}  // namespace

void run_block(const Context& context, Member& me, const BlockShape& shape, const Block& block, int layer, const RopeTable& rope,
               const RowSet& set, Workspace& ws) {
  const Kernels& kernels = context.kernels;
  Workspace::Own& own = ws.own[me.index];
  const int m = set.size();
  const auto pointer = [](const Vector& v, int at) { return v.empty() ? nullptr : v.data() + at; };
  const auto normed = [&](const Vector& w, const Vector& b) { return Input{ws.x.data(), ws.ldx, m, shape.d, &w, &b, shape.eps}; };
  const auto plain = [&](ActivationBuffer& from, int n) { return Input{from.row(0), from.ld(), m, n}; };

  multiply(context, me, normed(block.norm1_w, block.norm1_b), block.qkv, own.norm, ws.norm, ws.qkv.data(), ws.ld_qkv,
           [&](int begin, int end) {
             if (block.qkv_bias.empty()) return;
             for (int i = 0; i < m; i++)
               kernels.add_bias(ws.qkv.data() + static_cast<size_t>(i) * ws.ld_qkv + begin, &block.qkv_bias[begin], end - begin);
           });

  const Attention attention{context, shape, layer, rope, set, ws};
  const int tasks = static_cast<int>(set.tiles.size()) * shape.heads;
  const auto tile = [&](int task) { return set.tiles[task / shape.heads]; };
  if (set.shared_caches) context.team.phase(me, tasks, [&](int task) { attention.put(own, tile(task), task % shape.heads); });
  context.team.phase(me, tasks, [&](int task) {
    if (!set.shared_caches) attention.put(own, tile(task), task % shape.heads);
    attention.attend(own, tile(task), task % shape.heads);
  });

  const auto add_to_stream = [&](const Vector& bias, const Vector& scale) {
    return [&, m](int begin, int end) {
      for (int i = 0; i < m; i++)
        kernels.residual(ws.row(i) + begin, ws.tmp.data() + static_cast<size_t>(i) * ws.ld_tmp + begin, pointer(bias, begin),
                         pointer(scale, begin), end - begin);
    };
  };
  multiply(context, me, plain(ws.attention, shape.d), block.proj, own.attention, ws.attention, ws.tmp.data(), ws.ld_tmp,
           add_to_stream(block.proj_bias, block.scale1));

  const auto gelu = shape.erf_gelu ? kernels.bias_gelu_erf : kernels.bias_gelu_tanh;
  multiply(context, me, normed(block.norm2_w, block.norm2_b), block.fc_in, own.norm, ws.norm, ws.tmp.data(), ws.ld_tmp,
           [&](int begin, int end) {
             for (int i = 0; i < m; i++) {
               float* row = ws.tmp.data() + static_cast<size_t>(i) * ws.ld_tmp + begin;
               gelu(row, pointer(block.fc_in_bias, begin), end - begin);
               std::memcpy(ws.hidden.row(i) + begin, row, static_cast<size_t>(end - begin) * 4);
             }
           });

  multiply(context, me, plain(ws.hidden, shape.ff), block.fc_out, own.hidden, ws.hidden, ws.tmp.data(), ws.ld_tmp,
           add_to_stream(block.fc_out_bias, block.scale2));
}

}  // namespace sonant::cpu
