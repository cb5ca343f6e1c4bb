// registry: many chunks, and how long starts, pages of lists, searches and look-ups take beside
// them.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "clients/cpp/client.h"

namespace cascade::serve {
namespace {

using client::Client;

constexpr int64_t kListLimit = 1000;  // the limit of one page
constexpr int64_t kSearchLimit = 20;

std::string unique_word(int64_t number) {
  return "item" + std::to_string(number);
}

// Registers the chunks [begin, end) on several connections at once, so that one commit serves
// several chunks.
Status put_chunks(const Stage& stage, const std::string& endpoint, const RegistryOptions& options,
                  int64_t begin, int64_t end) {
  std::atomic<int64_t> next = begin;
  std::mutex mutex;
  Status failed;
  const auto work = [&]() -> Status {
    ASSIGN_OR_RETURN(Client client, Client::connect(endpoint));
    for (int64_t i = next++; i < end; i = next++) {
      RETURN_IF_ERROR(check_interrupted());
      ASSIGN_OR_RETURN(const std::string text,
                       stage.texts().words(static_cast<uint64_t>(i), options.tokens));
      const auto put = client.put_chunk(ChunkType::kContext, unique_word(i) + " " + text);
      if (!put.ok()) return put.error();
    }
    return {};
  };
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < options.connections; ++i) {
    threads.emplace_back([&] {
      const Status done = work();
      if (done.ok()) return;
      next = end;
      const std::lock_guard lock(mutex);
      failed = done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed;
}

// The milliseconds of each kind of question, asked one at a time.
struct Answers {
  std::vector<double> first_page, last_page, found_one, found_many, shown;
};

template <class Ask>
Status measure(std::vector<double>& times_ms, const Ask& ask) {
  const int64_t start_us = now_us();
  const auto answer = ask();
  times_ms.push_back(static_cast<double>(now_us() - start_us) / 1e3);
  return answer.ok() ? Status() : Status(answer.error());
}

Result<Answers> ask_all(const std::string& endpoint, const RegistryOptions& options,
                        int64_t chunks) {
  Answers answers;
  ASSIGN_OR_RETURN(Client client, Client::connect(endpoint));
  ASSIGN_OR_RETURN(const auto all, client.list_all_chunks(std::nullopt));
  if (static_cast<int64_t>(all.size()) != chunks) {
    return Error{
        ErrorCode::kInternal, "",
        std::to_string(all.size()) + " chunks of " + std::to_string(chunks) + " are there"};
  }
  const size_t before_last = std::max<size_t>(all.size(), kListLimit + 1) - kListLimit - 1;
  for (int64_t i = 0; i < options.repeats; ++i) {
    RETURN_IF_ERROR(check_interrupted());
    wire::ChunkListRequest page;
    RETURN_IF_ERROR(measure(answers.first_page, [&] { return client.list_chunks(page); }));
    page.after = all[before_last].chunk.id;
    RETURN_IF_ERROR(measure(answers.last_page, [&] { return client.list_chunks(page); }));
    const int64_t number = i * 7919 % chunks;
    RETURN_IF_ERROR(measure(answers.found_one, [&]() -> Status {
      ASSIGN_OR_RETURN(const auto hits, client.search_chunks(unique_word(number), kSearchLimit));
      if (hits.size() == 1) return {};
      return Error{ErrorCode::kInternal, "", unique_word(number) + " is not found once"};
    }));
    RETURN_IF_ERROR(
        measure(answers.found_many, [&] { return client.search_chunks("the", kSearchLimit); }));
    const std::string& id = all[static_cast<size_t>(number)].chunk.id;
    RETURN_IF_ERROR(measure(answers.shown, [&] { return client.get_chunk(id); }));
  }
  return answers;
}

void add_answers(speed::Report& report, int64_t chunks, const Answers& answers) {
  const auto add = [&](const char* what, const std::vector<double>& times_ms) {
    OrderedJson row;
    row["chunks"] = chunks;
    row["question"] = what;
    add_percentiles(row, "ms", times_ms);
    report.add(std::move(row));
  };
  add("list, newest 1000", answers.first_page);
  add("list, oldest 1000", answers.last_page);
  add("search, one chunk", answers.found_one);
  add("search, a common word", answers.found_many);
  add("show", answers.shown);
}

}  // namespace

Status registry(const RegistryOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  ASSIGN_OR_RETURN(std::unique_ptr<Service> service, stage->start_service());
  const int64_t few = std::max<int64_t>(1, options.chunks / 100);
  RETURN_IF_ERROR(put_chunks(*stage, service->daemon->endpoint(), options, 0, few));
  ASSIGN_OR_RETURN(const Answers with_few, ask_all(service->daemon->endpoint(), options, few));
  const int64_t put_us = now_us();
  RETURN_IF_ERROR(put_chunks(*stage, service->daemon->endpoint(), options, few, options.chunks));
  const double put_s = static_cast<double>(now_us() - put_us) / 1e6;
  ASSIGN_OR_RETURN(const Answers with_all,
                   ask_all(service->daemon->endpoint(), options, options.chunks));
  std::vector<double> starts_s;
  Answers restarted;
  for (int64_t i = 0; i < options.starts; ++i) {
    service->daemon->kill();
    const int64_t start_us = now_us();
    ASSIGN_OR_RETURN(service, stage->start_again(*service));
    ASSIGN_OR_RETURN(Client client, Client::connect(service->daemon->endpoint()));
    ASSIGN_OR_RETURN(const auto page, client.list_chunks({}));
    starts_s.push_back(static_cast<double>(now_us() - start_us) / 1e6);
    if (page.chunks.empty()) return Error{ErrorCode::kInternal, "", "the chunks are gone"};
  }
  ASSIGN_OR_RETURN(const Answers after,
                   ask_all(service->daemon->endpoint(), options, options.chunks));
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  OrderedJson header = stage->header("registry", status);
  header["chunks_put_per_s"] = ratio(static_cast<double>(options.chunks - few), put_s);
  add_percentiles(header, "start_s", starts_s);
  header["show_ratio"] = ratio(percentile(with_all.shown, 0.5), percentile(with_few.shown, 0.5));
  add_memory(header, service->memory());
  speed::Report report(std::move(header));
  add_answers(report, few, with_few);
  add_answers(report, options.chunks, with_all);
  add_answers(report, options.chunks, after);
  return stage->print(report);
}

}  // namespace cascade::serve
