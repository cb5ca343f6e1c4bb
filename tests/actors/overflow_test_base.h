// Conversations that outgrow the memory: the base of the tests of what comes in place of their
// oldest turns.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "tests/actors/durable_test.h"

namespace cascade::testing {

class OverflowTestBase : public DurableTest {
 protected:
  OverflowTestBase(OnOverflow on_overflow, size_t pages)
      : DurableTest(without_room_on_disk(), pages), on_overflow_(on_overflow) {}

  // K and V are written, but what the scheduler takes for the disk has no room for long prompts.
  static SchedulerOptions without_room_on_disk() {
    SchedulerOptions options = keeping_pages();
    options.disk = {.page_bytes = 1, .bytes_max = 1, .free_bytes = {}};
    return options;
  }
  static std::string remark(int number) {
    std::string text = "This is remark " + std::to_string(number) + ".";
    for (int i = 0; i < 6; ++i) text += " The river is long and the town beside it is old.";
    return text;
  }
  wire::GenerateRequest turn(const std::string& text) const {
    wire::GenerateRequest request = ask({system_text(kGeographer), query_text(text)});
    request.on_overflow = on_overflow_;
    request.retain_output = true;
    request.max_tokens = 4;
    return request;
  }
  wire::Final run(wire::GenerateRequest request) {
    return world_->one<wire::Final>(world_->send(std::move(request)));
  }
  // The next turn of the session "trip".
  wire::Final say(const std::string& text) {
    wire::GenerateRequest request = turn(text);
    request.session = "trip";
    return run(std::move(request));
  }
  wire::SessionReply session() {
    return world_->one<wire::SessionReply>(world_->send(wire::SessionGet{"trip"}));
  }

 private:
  const OnOverflow on_overflow_;
};

}  // namespace cascade::testing
