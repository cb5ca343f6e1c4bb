// The rows of a pass, sorted by the expert that they use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/expert_choice.h"

namespace cascade {

// One thread. Memory is kept for the next pass.
class ExpertRows {
 public:
  // Uses [begin, begin + count) of one expert.
  struct Group {
    int expert;
    int begin;
    int count;
    bool operator==(const Group&) const = default;
  };

  // `chosen`: [rows][each], in the order of the experts, whose numbers are below `experts`. Cuts
  // the uses into parts of at most `part_uses`; the uses of an expert are in one part if they fit
  // it.
  void sort(std::span<const ChosenExpert> chosen, int rows, int experts, int part_uses);

  // A use is a row and an expert. Uses are in the order of experts, those of an expert in the order
  // of rows. row(use) and weight(use) are of the use with that number.
  const int32_t* rows() const { return row_of_.data(); }
  int32_t row(int use) const { return row_of_[static_cast<size_t>(use)]; }
  float weight(int use) const { return weight_of_[static_cast<size_t>(use)]; }

  int parts() const { return static_cast<int>(part_end_.size()); }
  // The groups of part `index`, whose uses follow each other.
  std::span<const Group> part(int index) const;

 private:
  void cut(int part_uses);

  std::vector<int> begin_of_;     // [experts + 1]: the first use of each expert
  std::vector<int32_t> row_of_;   // [uses]
  std::vector<float> weight_of_;  // [uses]
  std::vector<Group> groups_;     // of all parts
  std::vector<size_t> part_end_;  // [parts]: in groups_
};

}  // namespace cascade
