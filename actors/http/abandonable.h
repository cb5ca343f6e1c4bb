// The interface of objects that wait for answers on behalf of an HTTP client.
#pragma once

namespace cascade {

class Abandonable {
 public:
  virtual ~Abandonable() = default;
  // Says that the answers are not wanted any more: the client has left. On the gateway's thread.
  virtual void abandon() = 0;
};

}  // namespace cascade
