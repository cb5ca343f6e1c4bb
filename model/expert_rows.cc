// Counting sort.
#include "model/expert_rows.h"

#include <algorithm>
#include <numeric>

namespace cascade {

void ExpertRows::sort(std::span<const ChosenExpert> chosen, int rows, int experts, int part_uses) {
  const size_t each = rows == 0 ? 0 : chosen.size() / static_cast<size_t>(rows);
  begin_of_.assign(static_cast<size_t>(experts) + 1, 0);
  for (const ChosenExpert& choice : chosen) ++begin_of_[static_cast<size_t>(choice.expert) + 1];
  std::partial_sum(begin_of_.begin(), begin_of_.end(), begin_of_.begin());
  row_of_.resize(chosen.size());
  weight_of_.resize(chosen.size());
  std::vector<int> next(begin_of_.begin(), begin_of_.end() - 1);
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto use = static_cast<size_t>(next[static_cast<size_t>(chosen[i].expert)]++);
    row_of_[use] = static_cast<int32_t>(i / each);
    weight_of_[use] = chosen[i].weight;
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
