// Moves the K and V of tokens to another place of a chain, without computing them again.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/kv_view.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/rope.h"

namespace cascade {

// Consecutive tokens, which are moved in ascending order. All pages are in memory; those of `to`
// may be pages of `from` only if no token is written that is still to be read, as when the tokens
// of a chain move down.
struct RowMove {
  KvPages from;            // of the whole chain that has the tokens
  int64_t from_begin = 0;  // the place of the first token in it
  KvPages to;
  int64_t to_begin = 0;
  int64_t count = 0;
  int64_t turn = 0;  // how many positions later a key is to stand than it does; may be negative
};

// V and, without a turn, K are copied bit for bit. A turned key is what RoPE would have made of the
// same vector at the other position (the angles of RoPE add up; Su et al. 2021), rounded a second
// time. Since a token's K and V depend on all tokens before it, they are approximations of those at
// the new place, except in the first layer. One thread at a time.
class RowMover {
 public:
  // The references outlive this.
  RowMover(const ModelConfig& config, const Kernels& kernels, const KvLayout& layout,
           ThreadPool& pool);

  void move(const RowMove& move);

 private:
  // How the keys of a part of a page are rotated.
  struct PartRope {
    LayerRope kind = LayerRope::kNone;
    int rotary_dim = 0;
  };
  // cos and sin of the turn; both empty if keys of this kind do not turn.
  struct Angles {
    std::vector<float> cos;
    std::vector<float> sin;
  };
  Angles angles_of(LayerRope kind, int64_t turn) const;
  void move_block(const RowMove& move, int part, int head, const Angles& angles) const;

  const Kernels& kernels_;
  const KvLayout layout_;
  ThreadPool& pool_;
  RopeTable main_;
  RopeTable local_;
  std::vector<PartRope> parts_;  // [parts of the layout]
};

}  // namespace cascade
