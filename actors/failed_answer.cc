// The type of the answer to each job.
#include "actors/failed_answer.h"

#include <type_traits>

namespace cascade {
namespace {

// Returns an empty answer of the type that answers the job: a StoreAck for most jobs of the store.
template <class Job>
wire::StoreAck answer_to(const Job&) {
  return {};
}
wire::EncodeDone answer_to(const wire::EncodeJob&) {
  return {};
}
wire::PrefillDone answer_to(const wire::PrefillJob&) {
  return {};
}
wire::DecodeDone answer_to(const wire::DecodeJob&) {
  return {};
}
wire::StorePagesDone answer_to(const wire::StorePages&) {
  return {};
}
wire::LoadPagesDone answer_to(const wire::LoadPages&) {
  return {};
}
wire::PagesLeased answer_to(const wire::LeasePages&) {
  return {};
}
wire::StateStored answer_to(const wire::StoreState&) {
  return {};
}
wire::StateLoaded answer_to(const wire::LoadState&) {
  return {};
}
wire::StoredChain answer_to(const wire::ReadChain&) {
  return {};
}
wire::StoreFound answer_to(const wire::StoreSearch&) {
  return {};
}
wire::StoreRanked answer_to(const wire::StoreRank&) {
  return {};
}
wire::StoreChecked answer_to(const wire::StoreCheck&) {
  return {};
}
wire::StoreBackedUp answer_to(const wire::StoreBackup&) {
  return {};
}

template <class M>
constexpr bool kIsList =
    std::is_same_v<M, wire::StoreChunks> || std::is_same_v<M, wire::StoredSettings> ||
    std::is_same_v<M, wire::PendingChain> || std::is_same_v<M, wire::StoredPages>;

template <class M>
constexpr bool kIsAnswer = requires(M m) {
  m.error;
}
|| std::is_same_v<M, wire::StoredChain>;

template <class M>
std::optional<wire::Message> failed(const M& message, const Error& error) {
  if constexpr (!requires { message.job; } || kIsList<M>) {
    return std::nullopt;
  } else if constexpr (kIsAnswer<M>) {
    M answer;
    answer.job = message.job;
    if constexpr (requires { answer.error; }) answer.error = error;
    return answer;
  } else {
    auto answer = answer_to(message);
    answer.job = message.job;
    return failed(answer, error);
  }
}

}  // namespace

std::optional<wire::Message> failed_answer(const wire::Message& message, const Error& error) {
  return std::visit([&](const auto& typed) { return failed(typed, error); }, message);
}

}  // namespace cascade
