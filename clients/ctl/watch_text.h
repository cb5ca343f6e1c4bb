// Events, and the page of `top`, for people. Pure.
#pragma once

#include <optional>
#include <string>

#include "clients/ctl/style.h"
#include "wire/messages.h"

namespace cascade::ctl {

// "2026-01-31 23:59:59  chunk_stored      OUTPUT output_… 35 tokens", without a newline.
std::string render_event(const wire::EventNotice& event, const Style& style);

// The facts that `top` shows at one time.
struct TopFrame {
  wire::StatusReply status;
  wire::StatsReply stats;
};
// `before` is the previous frame, from `passed_us` ago; rates cover the time between the two.
std::string render_top(const TopFrame& frame, const std::optional<TopFrame>& before,
                       int64_t passed_us, const Style& style);

}  // namespace cascade::ctl
