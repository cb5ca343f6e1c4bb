// Builds the tree from sorted tokens, which share the nodes of their common beginnings.
#include "model/grammar/token_trie.h"

#include <algorithm>
#include <string_view>

namespace cascade {
namespace {

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::string>& tokens) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    const bool taken = !tokens[id].empty() && tokens[id].size() <= kTokenBytesMax;
    if (taken) ids_.push_back(static_cast<int32_t>(id));
  }
  std::ranges::stable_sort(ids_, {}, [&](int32_t id) { return std::string_view(tokens[id]); });
  std::vector<uint32_t> path;  // the nodes of the token before this one
  std::string_view before;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    }
  };
  for (uint32_t i = 0; i < ids_.size(); ++i) {
    const std::string_view token = tokens[ids_[i]];
    close(common_prefix(token, before));
    while (path.size() < token.size()) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      Node node;
      node.byte = static_cast<uint8_t>(token[path.size() - 1]);
      node.depth = static_cast<uint16_t>(path.size());
      node.tokens_begin = node.tokens_end = i;
      nodes_.push_back(node);
    }
    nodes_[path.back()].tokens_end = i + 1;
    depth_ = std::max(depth_, token.size());
    before = token;
  }
  close(0);
  count_plain_bytes();
}

// Goes from the last node to the first, so that the nodes below a node are done before it.
void TokenTrie::count_plain_bytes() {
  for (size_t i = nodes_.size(); i > 0; --i) {
    Node& node = nodes_[i - 1];
    if (!is_plain(node.byte)) continue;
    uint16_t most = 0;
    bool all = true;
    for (size_t child = i; child < node.end && all; child = nodes_[child].end) {
      all = nodes_[child].plain_bytes > 0;
      most = std::max(most, nodes_[child].plain_bytes);
    }
    if (all) node.plain_bytes = static_cast<uint16_t>(most + 1);
  }
}

}  // namespace cascade
