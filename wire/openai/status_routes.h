// /v1/status and /v1/events: our own routes. Fields are named as in docs/protocol.md.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace cascade::openai {

// What the daemon is and does. Without `whole`, what all tenants do together is left out: the
// counts of the status, and `cache` and `disk` of the statistics.
std::string encode_status(const std::string& tenant, const wire::StatusReply& status,
                          const wire::StatsReply& stats, bool whole);

// Reads "after", "boot_id" and "limit". In errors, the field is the param.
Result<wire::EventsRequest> decode_event_list(
    const std::vector<std::pair<std::string, std::string>>& query);
std::string encode_event_list(const wire::EventsReply& reply);

}  // namespace cascade::openai
