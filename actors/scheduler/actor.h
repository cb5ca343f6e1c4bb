// The actors that the scheduler talks to.
#pragma once

namespace cascade {

// The last three are doors, which have clients. Each door serves one tenant.
enum class Actor { kPrefill, kDecode, kStore, kGateway, kHttp, kTcp };

}  // namespace cascade
