// Statistics of chunks and pages for people. Pure.
#pragma once

#include <string>

#include "clients/ctl/style.h"
#include "wire/messages.h"

namespace cascade::ctl {

std::string render_stats(const wire::StatsReply& stats, const Style& style);

}  // namespace cascade::ctl
