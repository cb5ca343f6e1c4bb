// Weights as K-quants: 4, 5 or 6 bits each, with scales of two levels (kernels/record_format.h).
#pragma once

#include "kernels/packed_matrix.h"
#include "kernels/record_format.h"

namespace cascade {

// What kernels/packed_matrix.cc does for K-quants. `words` are those of one lane, one for each line
// of the panel.
void encode_k_quant_row(const PackedMatrix& matrix, const float* row, uint32_t* words);
void encode_k_quant_groups(const PackedMatrix& matrix, const KQuantGroup* groups, uint32_t* words);
void get_k_quant_row(const PackedMatrix& matrix, int channel, float* row);

// Group number `group` of a channel.
KQuantGroup k_quant_group(const PackedMatrix& matrix, int panel, int lane, int group);

// Writes the 128 weights of a group. They are rounded once at most: f32 holds the products exactly.
void k_quant_values(const RecordFormat& format, const KQuantGroup& group, float* out);

}  // namespace cascade
