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

void Workspace::reserve(const BlockShape& shape, int rows_wanted, int slots, int team) {
  const auto pad = [](int n) { return (n + kPanel - 1) / kPanel * kPanel; };
  const int hd = shape.padded_head();
  ldx = pad(shape.d);
  ld_qkv = pad(3 * shape.d);
  ld_tmp = pad(std::max(shape.d, shape.ff));
  x.reserve(static_cast<size_t>(rows_wanted) * ldx);
  qkv.reserve(static_cast<size_t>(rows_wanted) * ld_qkv);
  tmp.reserve(static_cast<size_t>(rows_wanted) * ld_tmp);
  norm.reserve(rows_wanted, shape.d);
  attention.reserve(rows_wanted, shape.d);
  hidden.reserve(rows_wanted, shape.ff);
  members.resize(team);
  const size_t padded_slots = static_cast<size_t>(slots + kBlockSlots - 1) / kBlockSlots * kBlockSlots;
  for (Member& member : members) {
    member.norm.reserve(kRedundantRows, shape.d);
    member.attention.reserve(kRedundantRows, shape.d);
    member.hidden.reserve(kRedundantRows, shape.ff);
    member.q.reserve(static_cast<size_t>(kTileRows) * hd);
    member.k.reserve(static_cast<size_t>(2) * hd);
    member.out.reserve(static_cast<size_t>(kTileRows) * hd);
    member.scores.reserve(kTileRows * padded_slots);
  }
}

void Workspace::set_rows(const Row* batch, int count) {
  rows = batch;
  m = count;
  tiles.clear();
  shared_caches = false;
  for (int i = 0; i < m;) {
    int end = i + 1;
    while (end < m && end - i < kTileRows && rows[end].cache == rows[i].cache) end++;
    shared_caches |= end - i > 1 || (i > 0 && rows[i - 1].cache == rows[i].cache);
    tiles.push_back({i, end - i});
    i = end;
  }
}

const Activations& prepare(const Context& context, int member, const float* source, int ld, int m, int n, const Vector* w,
                           const Vector* b, float eps, const Linear& next, ActivationBuffer& own, ActivationBuffer& shared) {
  const bool redundant = m <= kRedundantRows;
  ActivationBuffer& target = redundant ? own : shared;
  const Share rows = redundant ? Share{0, m} : share(m, member, context.team.size());
  for (int i = rows.begin; i < rows.end; i++) {
    const float* row = source + static_cast<size_t>(i) * ld;
    if (w) {
      context.kernels.layer_norm(row, w->data(), b->data(), n, eps, target.row(i));
    } else if (row != target.row(i)) {
      std::memcpy(target.row(i), row, static_cast<size_t>(n) * 4);
    }
    if (next.quantised()) target.quantise(context.kernels, i);
  }
  if (!redundant) context.team.barrier();
  return target.view();
}

namespace {

// Rotated keys, and values, of a tile's rows for one head into the caches.
void put_rows(const Context& context, const BlockShape& shape, int layer, const RopeTable& rope, Workspace& ws,
              Workspace::Member& own, Workspace::Tile tile, int head) {
  const int hd = shape.padded_head();
  float* k = own.k.data();
  float* v = k + hd;
  for (int i = tile.first; i < tile.first + tile.count; i++) {
    const Row& row = ws.rows[i];
    const float* qkv = ws.qkv.data() + static_cast<size_t>(i) * ws.ld_qkv + head * shape.head_dim;
    std::memcpy(k, qkv + shape.d, static_cast<size_t>(shape.head_dim) * 4);
    std::memcpy(v, qkv + 2 * shape.d, static_cast<size_t>(shape.head_dim) * 4);
    context.kernels.rope(k, rope.at(row.position), shape.head_dim);
    const auto put = row.cache->shape().type == CacheType::kFp32 ? context.kernels.put_f32 : context.kernels.put_half;
    put(k, v, hd, row.cache->head(layer, head, row.slot), row.slot % kBlockSlots);
  }
}

void attend_tile(const Context& context, const BlockShape& shape, int layer, const RopeTable& rope, Workspace& ws,
                 Workspace::Member& own, Workspace::Tile tile, int head) {
  const int hd = shape.padded_head();
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  AttendArgs args;
  args.rows = tile.count;
  args.hd = hd;
  const KvCache& cache = *ws.rows[tile.first].cache;
  args.blocks = cache.blocks();
  args.head_offset = cache.head_offset(layer, head);
  args.q = own.q.data();
  args.scores = own.scores.data();
  args.out = own.out.data();
  for (int i = 0; i < tile.count; i++) {
    const Row& row = ws.rows[tile.first + i];
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

void run_block(const Context& context, int member, const BlockShape& shape, const Block& block, int layer, const RopeTable& rope,
               Workspace& ws) {
  const Kernels& kernels = context.kernels;
  ThreadTeam& team = context.team;
  Workspace::Member& own = ws.members[member];
  const int m = ws.m;
  const auto panels = [&](const Linear& linear) { return share(linear.panels(), member, team.size(), 2); };
  const auto columns = [](Share p, const Linear& linear) {
    return Share{p.begin * kPanel, std::min(p.end * kPanel, linear.n())};
  };
  const auto pointer = [](const Vector& v, int at) { return v.empty() ? nullptr : v.data() + at; };

  {
    const Activations& in = prepare(context, member, ws.x.data(), ws.ldx, m, shape.d, &block.norm1_w, &block.norm1_b, shape.eps,
                                    block.qkv, own.norm, ws.norm);
    const Share p = panels(block.qkv), c = columns(p, block.qkv);
    block.qkv.apply(in, m, p.begin, p.end, ws.qkv.data(), ws.ld_qkv);
    if (!block.qkv_bias.empty() && c.begin < c.end)
      for (int i = 0; i < m; i++)
        kernels.add_bias(ws.qkv.data() + static_cast<size_t>(i) * ws.ld_qkv + c.begin, &block.qkv_bias[c.begin], c.end - c.begin);
  }
  team.barrier();

  const int tiles = static_cast<int>(ws.tiles.size());
  const Share tasks = share(tiles * shape.heads, member, team.size());
  for (int t = tasks.begin; t < tasks.end; t++) put_rows(context, shape, layer, rope, ws, own, ws.tiles[t / shape.heads], t % shape.heads);
  if (ws.shared_caches) team.barrier();
  for (int t = tasks.begin; t < tasks.end; t++) attend_tile(context, shape, layer, rope, ws, own, ws.tiles[t / shape.heads], t % shape.heads);
  team.barrier();

  const auto add_to_stream = [&](const Linear& linear, const Activations& in, const Vector& bias, const Vector& scale) {
    const Share p = panels(linear), c = columns(p, linear);
    linear.apply(in, m, p.begin, p.end, ws.tmp.data(), ws.ld_tmp);
    if (c.begin < c.end)
      for (int i = 0; i < m; i++)
        kernels.residual(ws.row(i) + c.begin, ws.tmp.data() + static_cast<size_t>(i) * ws.ld_tmp + c.begin, pointer(bias, c.begin),
                         pointer(scale, c.begin), c.end - c.begin);
    team.barrier();
  };

  add_to_stream(block.proj,
                prepare(context, member, ws.attention.row(0), ws.attention.ld(), m, shape.d, nullptr, nullptr, 0, block.proj,
                        own.attention, ws.attention),
                block.proj_bias, block.scale1);

  {
    const Activations& in = prepare(context, member, ws.x.data(), ws.ldx, m, shape.d, &block.norm2_w, &block.norm2_b, shape.eps,
                                    block.fc_in, own.norm, ws.norm);
    const Share p = panels(block.fc_in), c = columns(p, block.fc_in);
    block.fc_in.apply(in, m, p.begin, p.end, ws.tmp.data(), ws.ld_tmp);
    const auto gelu = shape.erf_gelu ? kernels.bias_gelu_erf : kernels.bias_gelu_tanh;
    if (c.begin < c.end)
      for (int i = 0; i < m; i++) {
        float* row = ws.tmp.data() + static_cast<size_t>(i) * ws.ld_tmp + c.begin;
        gelu(row, pointer(block.fc_in_bias, c.begin), c.end - c.begin);
        std::memcpy(ws.hidden.row(i) + c.begin, row, static_cast<size_t>(c.end - c.begin) * 4);
      }
  }
  team.barrier();

  add_to_stream(block.fc_out,
                prepare(context, member, ws.hidden.row(0), ws.hidden.ld(), m, shape.ff, nullptr, nullptr, 0, block.fc_out,
                        own.hidden, ws.hidden),
                block.fc_out_bias, block.scale2);
}

}  // namespace sonant::cpu
