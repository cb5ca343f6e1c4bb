// Block by block: the keys and values of one head of one part.
#include "model/row_mover.h"

#include <cmath>

#include "base/check.h"
#include "kernels/move_kv.h"
#include "kernels/write_kv.h"

namespace cascade {

RowMover::RowMover(const ModelConfig& config, const Kernels& kernels, const KvLayout& layout,
                   ThreadPool& pool)
    : kernels_(kernels),
      layout_(layout),
      pool_(pool),
      main_(config.rope, config.rotary_dim(LayerRope::kMain)),
      local_(config.local_rope, config.rotary_dim(LayerRope::kLocal)),
      parts_(layout.parts.size()) {
  for (int layer = 0; layer < config.layers; ++layer) {
    if (config.recurrent.is_recurrent(layer)) continue;
    const AttentionShape shape = config.attention_shape(layer);
    if (!shape.writes_kv) continue;
    const LayerRope kind = config.layer_rope[layer];
    parts_[shape.kv_part] = {kind, config.rotary_dim(kind)};
  }
}

RowMover::Angles RowMover::angles_of(LayerRope kind, int64_t turn) const {
  Angles angles;
  if (kind == LayerRope::kNone || turn == 0) return angles;
  const RopeTable& table = kind == LayerRope::kLocal ? local_ : main_;
  for (const double frequency : table.frequencies()) {
    const double angle = static_cast<double>(turn) * frequency;
    angles.cos.push_back(static_cast<float>(std::cos(angle)));
    angles.sin.push_back(static_cast<float>(std::sin(angle)));
  }
  return angles;
}

void RowMover::move(const RowMove& move) {
  CHECK(move.from_begin >= 0 && move.to_begin >= 0 && move.count >= 0);
  CHECK(move.from_begin + move.count <= std::ssize(move.from) * kPageTokens);
  CHECK(move.to_begin + move.count <= std::ssize(move.to) * kPageTokens);
  struct Block {
    int part;
    int head;
  };
  std::vector<Block> blocks;
  for (int part = 0; part < layout_.part_count(); ++part) {
    for (int head = 0; head < layout_.parts[part].kv_heads; ++head) blocks.push_back({part, head});
  }
  const Angles main = angles_of(LayerRope::kMain, move.turn);
  const Angles local = angles_of(LayerRope::kLocal, move.turn);
  const Angles none;
  pool_.run(static_cast<int>(blocks.size()), [&](int i, int) {
    const LayerRope kind = parts_[blocks[i].part].kind;
    const Angles& angles = kind == LayerRope::kNone    ? none
                           : kind == LayerRope::kLocal ? local
                                                       : main;
    move_block(move, blocks[i].part, blocks[i].head, angles);
  });
}

void RowMover::move_block(const RowMove& move, int part, int head, const Angles& angles) const {
  const int head_dim = layout_.parts[part].head_dim;
  const size_t key = layout_.key_offset(part, head);
  const size_t value = layout_.value_offset(part, head);
  std::vector<float> turned(static_cast<size_t>(head_dim));
  for (int64_t i = 0; i < move.count; ++i) {
    const int64_t from = move.from_begin + i;
    const int64_t to = move.to_begin + i;
    const uint8_t* const from_page = move.from[static_cast<size_t>(from / kPageTokens)];
    uint8_t* const to_page = move.to[static_cast<size_t>(to / kPageTokens)];
    const auto from_slot = static_cast<int>(from % kPageTokens);
    const auto to_slot = static_cast<int>(to % kPageTokens);
    if (angles.cos.empty()) {
      copy_kv(layout_.type, head_dim, {from_page + key, from_page + value}, from_slot,
              {to_page + key, to_page + value}, to_slot);
      continue;
    }
    copy_value(layout_.type, head_dim, from_page + value, from_slot, to_page + value, to_slot);
    read_key(layout_.type, head_dim, from_slot, from_page + key, turned.data());
    kernels_.rope(turned.data(), 1, head_dim, parts_[part].rotary_dim, angles.cos.data(),
                  angles.sin.data());
    write_key(layout_.type, head_dim, to_slot, turned.data(), to_page + key);
  }
}

}  // namespace cascade
