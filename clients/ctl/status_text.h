// The daemon's status for people. Pure.
#pragma once

#include <string>

#include "clients/ctl/style.h"
#include "wire/messages.h"

namespace cascade::ctl {

std::string render_status(const wire::StatusReply& status, const Style& style);

}  // namespace cascade::ctl
