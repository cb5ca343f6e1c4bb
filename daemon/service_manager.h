// The messages of cascaded to systemd, or to another program that set NOTIFY_SOCKET (sd_notify(3)).
#pragma once

#include <cstdint>
#include <string>

namespace cascade {

// Sends nothing if there is no receiver. A message that cannot be sent is lost. One thread.
class ServiceManager {
 public:
  ServiceManager();

  // Whether a service manager listens.
  bool present() const { return present_; }
  // The time without feed() after which the process counts as stuck; 0: nobody watches it.
  int64_t watchdog_us() const { return watchdog_us_; }

  // A line for people about what the service does. It is sent if it has changed.
  void status(const std::string& text);
  void ready();
  void reloading();  // ready() ends it
  void stopping();
  void feed();

 private:
  bool present_ = false;
  int64_t watchdog_us_ = 0;
  std::string status_;
};

}  // namespace cascade
