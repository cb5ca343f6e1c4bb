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
  // tokens[id] are the bytes of token `id`. Tokens without bytes or with more than kTokenBytesMax
  // are left out.
  explicit TokenTrie(const std::vector<std::string>& tokens);
  static constexpr size_t kTokenBytesMax = 1024;

  // Nodes are in the order of a walk that goes to a node's children before it goes to its siblings.
  struct Node {
    uint8_t byte = 0;
    uint16_t depth = 0;  // the byte's place in a token, from 1 on
    uint32_t end = 0;    // the first node that is not below it
    uint32_t tokens_begin = 0;
    uint32_t tokens_end = 0;
    // If this byte and all bytes below it are plain, the length of the longest chain of them; else
    // 0.
    uint16_t plain_bytes = 0;
  };
  // Whether a byte stands for itself in a JSON string, as most bytes of most tokens do.
  static constexpr bool is_plain(uint8_t byte) {
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
  }
  std::span<const Node> nodes() const { return nodes_; }
  // The ids of the tokens whose bytes end in `node`.
  std::span<const int32_t> tokens(const Node& node) const {
    return std::span(ids_).subspan(node.tokens_begin, node.tokens_end - node.tokens_begin);
  }
  // The same ids, and those of all tokens below `node`.
  std::span<const int32_t> tokens_below(const Node& node) const {
    const size_t end = node.end < nodes_.size() ? nodes_[node.end].tokens_begin : ids_.size();
    return std::span(ids_).subspan(node.tokens_begin, end - node.tokens_begin);
  }
  // The number of bytes of the longest token.
  size_t depth() const { return depth_; }

 private:
  void count_plain_bytes();

  std::vector<Node> nodes_;
  std::vector<int32_t> ids_;
  size_t depth_ = 0;
};

}  // namespace cascade
