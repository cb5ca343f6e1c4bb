// Sends its messages through libsystemd.
#include "daemon/service_manager.h"

#include <systemd/sd-daemon.h>

#include <cstdlib>

#include "base/clock.h"

namespace cascade {

ServiceManager::ServiceManager() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  present_ = socket != nullptr && *socket != '\0';
  uint64_t timeout_us = 0;
  if (present_ && sd_watchdog_enabled(0, &timeout_us) > 0) {
    watchdog_us_ = static_cast<int64_t>(timeout_us);
  }
}

void ServiceManager::status(const std::string& text) {
  if (text == status_) return;
  status_ = text;
  sd_notify(0, ("STATUS=" + text).c_str());
}

void ServiceManager::ready() {
  sd_notify(0, "READY=1");
}

void ServiceManager::reloading() {
  // The clock that systemd itself uses, by which it orders the messages.
  const std::string now = std::to_string(system_clock().monotonic_us());
  sd_notify(0, ("RELOADING=1\nMONOTONIC_USEC=" + now).c_str());
}

void ServiceManager::stopping() {
  sd_notify(0, "STOPPING=1");
}

void ServiceManager::feed() {
  sd_notify(0, "WATCHDOG=1");
}

}  // namespace cascade
