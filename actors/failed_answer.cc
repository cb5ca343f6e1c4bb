// Jobs and what answers them.
#include "actors/failed_answer.h"

#include <type_traits>

namespace cascade {
namespace {

// The message that answers a job of type M.
template <class M>
struct AnswerOf {
  using Type = wire::StoreAck;
};
template <>
struct AnswerOf<wire::EncodeJob> {
  using Type = wire::EncodeDone;
};
template <>
struct AnswerOf<wire::PrefillJob> {
  using Type = wire::PrefillDone;
};
template <>
struct AnswerOf<wire::DecodeJob> {
  using Type = wire::DecodeDone;
};
template <>
struct AnswerOf<wire::StorePages> {
  using Type = wire::StorePagesDone;
};
template <>
struct AnswerOf<wire::LoadPages> {
  using Type = wire::LoadPagesDone;
};
template <>
struct AnswerOf<wire::ReadChain> {
  using Type = wire::StoredChain;
};
template <>
struct AnswerOf<wire::StoreSearch> {
  using Type = wire::StoreFound;
};
template <>
struct AnswerOf<wire::StoreCheck> {
  using Type = wire::StoreChecked;
};
template <>
struct AnswerOf<wire::StoreBackup> {
  using Type = wire::StoreBackedUp;
};

// Lists of what is stored: several answer one job, and what else they bring matters more.
template <class M>
constexpr bool kIsOneOfMany =
    std::is_same_v<M, wire::StoreChunks> || std::is_same_v<M, wire::StoredSettings> ||
    std::is_same_v<M, wire::PendingChain> || std::is_same_v<M, wire::StoredPages>;

template <class M>
constexpr bool kIsAnswer = requires(M m) {
  m.error;
}
|| std::is_same_v<M, wire::StoredChain>;

template <class M>
std::optional<wire::Message> failed(const M& message, const Error& error) {
  if constexpr (!requires { message.job; } || kIsOneOfMany<M>) {
    return std::nullopt;
  } else {
    std::conditional_t<kIsAnswer<M>, M, typename AnswerOf<M>::Type> answer;
    answer.job = message.job;
    if constexpr (requires { answer.error; }) answer.error = error;
    return answer;
  }
}

}  // namespace

std::optional<wire::Message> failed_answer(const wire::Message& message, const Error& error) {
  return std::visit([&](const auto& typed) { return failed(typed, error); }, message);
}

}  // namespace cascade
