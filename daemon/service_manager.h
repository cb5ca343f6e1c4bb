// What cascaded says to systemd, or to whoever set NOTIFY_SOCKET (sd_notify(3)).
#pragma once

#include <cstdint>
#include <string>

namespace cascade {

// Says nothing if nobody wants to hear it. What cannot be sent is lost. One thread.
class ServiceManager {
 public:
  ServiceManager();

  // Somebody wants to hear.
  bool present() const { return present_; }
  // After so long without feed() it takes the process for stuck; 0: it does not watch.
  int64_t watchdog_us() const { return watchdog_us_; }

  // A line for people: what the service does. Sent if it has changed.
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
