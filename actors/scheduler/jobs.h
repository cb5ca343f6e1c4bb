// The jobs that actors have been given and have not answered: one table for each kind, and one
// place that knows all tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/scheduler/actor.h"
#include "base/check.h"
#include "base/result.h"

namespace cascade {

struct JobKind {
  Actor actor;               // that owes the answers
  bool is_long = false;      // may take minutes: the actor does not count as hung
  bool delays_stop = false;  // the daemon does not end before the job is answered
};

// The error of a request whose job was lost.
inline Error lost_work() {
  return {ErrorCode::kInternal, "",
          "the actor that worked on this request failed and was restarted"};
}

// A table of jobs, as Jobs knows them.
class JobTable {
 public:
  explicit JobTable(const JobKind& kind) : kind_(kind) {}
  virtual ~JobTable() = default;
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  const JobKind& kind() const { return kind_; }
  virtual bool empty() const = 0;
  // The actor will answer none of the table's jobs.
  virtual void lose() = 0;

 private:
  const JobKind kind_;
};

// Numbers jobs, and enumerates their tables, which add themselves. One thread.
class Jobs {
 public:
  // No number is given twice.
  uint64_t next() { return next_++; }
  // `table` outlives all other calls.
  void add(JobTable* table) { tables_.push_back(table); }

  // Whether the actor owes an answer that should come soon.
  bool owes(Actor actor) const {
    return std::ranges::any_of(tables_, [&](const JobTable* table) {
      return table->kind().actor == actor && !table->kind().is_long && !table->empty();
    });
  }
  bool delay_stop() const {
    return std::ranges::any_of(tables_, [](const JobTable* table) {
      return table->kind().delays_stop && !table->empty();
    });
  }
  // The actor was restarted, so its jobs are lost. Tells each of its tables, also the empty ones,
  // in the order in which they were added.
  void lose(Actor actor) {
    for (JobTable* table : tables_) {
      if (table->kind().actor == actor) table->lose();
    }
  }

 private:
  uint64_t next_ = 1;
  std::vector<JobTable*> tables_;
};

// The jobs of one kind, by number, the oldest first. One thread.
template <class T>
class PendingJobs : public JobTable {
 public:
  using All = std::map<uint64_t, T>;
  using Lost = std::function<void(All&&)>;

  // `lost` is given the jobs that will not be answered; the table is empty by then, and takes new
  // ones. `jobs` outlives this.
  PendingJobs(Jobs& jobs, const JobKind& kind, Lost lost) : JobTable(kind), lost_(std::move(lost)) {
    jobs.add(this);
  }

  void put(uint64_t number, T job) { CHECK(jobs_.emplace(number, std::move(job)).second); }
  // The job has been answered. nullopt: it is in another table, or is from before the actor's
  // restart.
  std::optional<T> take(uint64_t number) {
    auto found = jobs_.extract(number);
    if (found.empty()) return std::nullopt;
    return std::move(found.mapped());
  }
  template <class Pred>
  void erase_if(const Pred& pred) {
    std::erase_if(jobs_, [&](const auto& job) { return pred(job.second); });
  }

  bool empty() const override { return jobs_.empty(); }
  size_t size() const { return jobs_.size(); }
  const All& all() const { return jobs_; }
  bool contains(uint64_t number) const { return jobs_.contains(number); }
  // The oldest; nullptr if there is none.
  const T* front() const { return jobs_.empty() ? nullptr : &jobs_.begin()->second; }
  T* front() { return jobs_.empty() ? nullptr : &jobs_.begin()->second; }

  void lose() override { lost_(std::exchange(jobs_, {})); }

 private:
  All jobs_;
  const Lost lost_;
};

}  // namespace cascade
