// Counting sort.
#include "model/expert_rows.h"

#include <algorithm>
#include <numeric>

namespace cascade {

void ExpertRows::sort(std::span<const ChosenExpert> chosen, int rows, int experts, bool is_shared,
                      int part_uses) {
  const size_t each = rows == 0 ? 0 : chosen.size() / static_cast<size_t>(rows);
  const size_t uses = chosen.size() + (is_shared ? static_cast<size_t>(rows) : 0);
  begin_of_.assign(static_cast<size_t>(experts) + 2, 0);
  for (const ChosenExpert& choice : chosen) ++begin_of_[static_cast<size_t>(choice.expert) + 1];
  if (is_shared) begin_of_.back() = rows;
  std::partial_sum(begin_of_.begin(), begin_of_.end(), begin_of_.begin());
  row_of_.resize(uses);
  weight_of_.resize(uses);
  std::vector<int> next(begin_of_.begin(), begin_of_.end() - 1);
  const auto add = [&](size_t expert, size_t row, float weight) {
    const auto use = static_cast<size_t>(next[expert]++);
    row_of_[use] = static_cast<int32_t>(row);
    weight_of_[use] = weight;
  };
  for (size_t i = 0; i < chosen.size(); ++i) {
    add(static_cast<size_t>(chosen[i].expert), i / each, chosen[i].weight);
  }
  for (size_t row = 0; is_shared && row < static_cast<size_t>(rows); ++row) {
    add(static_cast<size_t>(experts), row, 1);
  }
  cut(part_uses);
}

void ExpertRows::cut(int part_uses) {
  groups_.clear();
  part_end_.clear();
  int used = 0;  // in the open part
  const auto close = [&] {
    if (used > 0) part_end_.push_back(groups_.size());
    used = 0;
  };
  for (size_t expert = 0; expert + 1 < begin_of_.size(); ++expert) {
    int begin = begin_of_[expert];
    const int end = begin_of_[expert + 1];
    if (used + end - begin > part_uses) close();
    while (begin < end) {
      const int count = std::min(end - begin, part_uses - used);
      groups_.push_back({static_cast<int>(expert), begin, count});
      begin += count;
      used += count;
      if (used == part_uses) close();
    }
  }
  close();
}

std::span<const ExpertRows::Group> ExpertRows::part(int index) const {
  const size_t begin = index == 0 ? 0 : part_end_[static_cast<size_t>(index) - 1];
  return std::span(groups_).subspan(begin, part_end_[static_cast<size_t>(index)] - begin);
}

}  // namespace cascade
