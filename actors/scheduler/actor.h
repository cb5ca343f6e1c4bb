// Whom the scheduler talks to.
#pragma once

namespace cascade {

// The last three have clients: a door of one tenant each.
enum class Actor { kPrefill, kDecode, kStore, kGateway, kHttp, kTcp };

}  // namespace cascade
