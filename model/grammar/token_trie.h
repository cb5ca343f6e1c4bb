// The tokens of a vocabulary as a tree of their bytes, flat in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cascade {

// Immutable; any thread.
class TokenTrie {
 public:
  // tokens[id] are the bytes of token `id`; those without bytes are left out, and so are those with
  // more than kTokenBytesMax.
  explicit TokenTrie(const std::vector<std::string>& tokens);
  static constexpr size_t kTokenBytesMax = 1024;

  // In the order of a walk that goes to a node's children before it goes to its siblings.
  struct Node {
    uint8_t byte = 0;
    uint16_t depth = 0;  // of its last byte: from 1 on
    uint32_t end = 0;    // the first node that is not below it
    uint32_t tokens_begin = 0;
    uint32_t tokens_end = 0;
  };
  std::span<const Node> nodes() const { return nodes_; }
  // The ids of the tokens whose bytes end in `node`.
  std::span<const int32_t> tokens(const Node& node) const {
    return std::span(ids_).subspan(node.tokens_begin, node.tokens_end - node.tokens_begin);
  }
  // The longest token.
  size_t depth() const { return depth_; }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> ids_;
  size_t depth_ = 0;
};

}  // namespace cascade
