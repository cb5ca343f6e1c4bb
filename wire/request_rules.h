// Rules for clients' requests that do not depend on the model: the limits in request_messages.h.
#pragma once

#include "wire/messages.h"

namespace cascade::wire {

inline constexpr size_t kIdBytesMax = 128;  // ours have 39; longer ones cannot name anything
inline constexpr size_t kStopStringsMax = 16;
inline constexpr size_t kStopBytesMax = 256;
inline constexpr int32_t kListLimitMax = 1000;
inline constexpr int32_t kDeltaCreditMax = 1'000'000;
inline constexpr int32_t kTopKMax = int32_t{1} << 21;
inline constexpr double kTemperatureMax = 100;
inline constexpr double kRepetitionPenaltyMax = 100;
inline constexpr double kPresencePenaltyMax = 2;  // the minimum is minus this; also for
                                                  // frequency_penalty
inline constexpr double kLogitBiasMax = 100;      // the minimum is minus this
inline constexpr size_t kLogitBiasesMax = 1024;
inline constexpr int32_t kTopLogprobsMax = 20;
inline constexpr size_t kAttentionBytesMax = 64;  // no mode has a longer text
inline constexpr size_t kReasoningEffortBytesMax = 32;
inline constexpr size_t kNameBytesMax = 128;
// The largest note of a program about one turn: the whole registry of a tenant has room for 512
// MiB.
inline constexpr size_t kClientDataBytesMax = size_t{256} << 10;
inline constexpr size_t kSearchBytesMax = 1024;
inline constexpr size_t kPathBytesMax = 4095;  // the system's limit
inline constexpr int32_t kChunkPriorityMax = 100;
inline constexpr size_t kToolsBytesMax = size_t{1} << 20;  // real ones have up to about 100 KiB
inline constexpr int64_t kDurationMsMax = int64_t{36'525} * 24 * 3600 * 1000;  // 100 years

// Errors: kInvalidArgument with the field, e.g. "sampling.top_p" or "chunks[1].id". decode() calls
// these for every message; a caller that builds a request by other means (HTTP) may call them
// first. Pure, any thread.
Status check_request(const GenerateRequest& request);
Status check_request(const ChunkListRequest& request);
Status check_request(const ChunkSearch& request);
Status check_request(const ChunkGet& request);
Status check_request(const ChunkDelete& request);
Status check_request(const ChunkPut& request);
Status check_request(const ChunkUpdate& request);
Status check_request(const PrefixCache& request);
Status check_request(const PrefixAttach& request);
Status check_request(const PrefixRelease& request);
Status check_request(const SessionListRequest& request);
Status check_request(const SessionGet& request);
Status check_request(const SessionDelete& request);
Status check_request(const PolicySet& request);
Status check_request(const FsckRequest& request);
Status check_request(const BackupRequest& request);
Status check_request(const TokenizeRequest& request);
Status check_request(const DetokenizeRequest& request);
Status check_request(const ApplyTemplateRequest& request);
Status check_request(const EventsRequest& request);
Status check_request(const DeltaCredit& request);
Status check_request(const ModelLoad& request);
Status check_request(const ModelUnload& request);

// Checks the name of a model, in any request. Errors: kInvalidArgument, `field`.
Status check_model_name(const std::string& field, const std::string& name);

// All other messages have no rules beyond the types of their fields.
template <class M>
Status check_request(const M&) {
  return {};
}

}  // namespace cascade::wire
