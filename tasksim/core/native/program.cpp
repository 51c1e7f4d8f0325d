#include "program.h"

#include <algorithm>
#include <array>

namespace tasksim {

namespace {

template <std::size_t>
using Argument = void *;

// A call with so many arguments, each a pointer or as wide as one.
template <std::size_t... Index>
std::int64_t apply(void *function, void *const *arguments, std::index_sequence<Index...>) {
  using Function = std::int32_t (*)(Argument<Index>...);
  return reinterpret_cast<Function>(function)(arguments[Index]...);
}

using Caller = std::int64_t (*)(void *, void *const *);

template <std::size_t Count>
std::int64_t call_with(void *function, void *const *arguments) {
  return apply(function, arguments, std::make_index_sequence<Count>{});
}

template <std::size_t... Count>
constexpr std::array<Caller, sizeof...(Count)> callers(std::index_sequence<Count...>) {
  return {call_with<Count>...};
}

constexpr auto CALLERS = callers(std::make_index_sequence<TASKSIM_MOST_ARGUMENTS + 1>{});

template <class T>
std::span<const T> array(const T *given, i64 length) {
  if (length < 0 || (length && !given)) throw BadArrays{};
  return {given, static_cast<std::size_t>(length)};
}

std::span<const i64> pointer(const i64 *given, i64 rows) {
  const auto found = array(given, rows + 1);
  if (found[0] != 0 || !std::is_sorted(found.begin(), found.end())) throw BadArrays{};
  return found;
}

}  // namespace

Program::Program(const tasksim_program &given, int tasks, int workers)
    : functions_(given.functions),
      address_(array(given.address, given.functions)),
      tells_(array(given.tells, given.functions)),
      function_(array(given.function, tasks)),
      argument_ptr_(pointer(given.argument_ptr, tasks)),
      arguments_(array(given.arguments, argument_ptr_[tasks])),
      own_ptr_(pointer(given.own_ptr, given.functions)),
      own_(array(given.own, workers * own_ptr_[given.functions])),
      call_back_(given.call_back) {
  check_calls();
}

void Program::check_calls() const {
  for (i64 k = 0; k < functions_; ++k)
    if (!address_[k] || tells_[k] < TASKSIM_TELLS_NOTHING || tells_[k] > TASKSIM_TELLS_LAST)
      throw BadArrays{};
  for (std::size_t task = 0; task < function_.size(); ++task) {
    const auto function = function_[task];
    if (function < -1 || function >= functions_) throw BadArrays{};
    if (function < 0) {
      if (!call_back_) throw BadArrays{};
      continue;
    }
    const i64 count = argument_ptr_[task + 1] - argument_ptr_[task] + own_ptr_[function + 1] -
                      own_ptr_[function];
    if (count > TASKSIM_MOST_ARGUMENTS) throw BadArrays{};
    if (tells_[function] == TASKSIM_TELLS_LAST && !count) throw BadArrays{};
  }
}

i64 Program::call(int task, int worker) const {
  const auto function = function_[task];
  void *all[TASKSIM_MOST_ARGUMENTS];
  void **end = std::copy(arguments_.begin() + argument_ptr_[task],
                         arguments_.begin() + argument_ptr_[task + 1], all);
  const auto own = own_.begin() + worker * own_ptr_[functions_];
  end = std::copy(own + own_ptr_[function], own + own_ptr_[function + 1], end);
  const i64 told = CALLERS[end - all](address_[function], all);
  switch (tells_[function]) {
    case TASKSIM_TELLS_RESULT:
      return told;
    case TASKSIM_TELLS_LAST:
      return *static_cast<const std::int32_t *>(end[-1]);
    default:
      return 0;  // a function without a result leaves anything in its place
  }
}

}  // namespace tasksim
