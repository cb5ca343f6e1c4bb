// What waits for answers on behalf of a client of HTTP.
#pragma once

namespace cascade {

class Abandonable {
 public:
  virtual ~Abandonable() = default;
  // The answers are not wanted any more: the client has gone. On the gateway's thread.
  virtual void abandon() = 0;
};

}  // namespace cascade
