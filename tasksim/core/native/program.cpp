#include "program.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tasksim {

namespace {

template <std::size_t>
using Argument = void *;

// A call with a number of arguments, each a pointer or as wide as one.
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

// The same, with eight real numbers: a function that takes fewer ignores the other registers.
template <std::size_t... Index>
std::int64_t apply_with_reals(void *function, void *const *arguments, const double *x,
                              std::index_sequence<Index...>) {
  using Function = std::int32_t (*)(Argument<Index>..., double, double, double, double, double,
                                    double, double, double);
  return reinterpret_cast<Function>(function)(arguments[Index]..., x[0], x[1], x[2], x[3], x[4],
                                              x[5], x[6], x[7]);
}

using CallerWithReals = std::int64_t (*)(void *, void *const *, const double *);

template <std::size_t Count>
std::int64_t call_with_reals(void *function, void *const *arguments, const double *reals) {
  return apply_with_reals(function, arguments, reals, std::make_index_sequence<Count>{});
}

template <std::size_t... Count>
constexpr std::array<CallerWithReals, sizeof...(Count)> callers_with_reals(
    std::index_sequence<Count...>) {
  return {call_with_reals<Count>...};
}

template <std::size_t... Count>
constexpr std::array<Caller, sizeof...(Count)> callers(std::index_sequence<Count...>) {
  return {call_with<Count>...};
}

constexpr auto CALLERS = callers(std::make_index_sequence<TASKSIM_MAX_ARGUMENTS + 1>{});
constexpr auto CALLERS_WITH_REALS =
    callers_with_reals(std::make_index_sequence<TASKSIM_MAX_ARGUMENTS + 1>{});

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
      reals_(array(given.reals, given.functions)),
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
  for (const auto reals : reals_)
    if (reals < 0 || reals > TASKSIM_MAX_REALS) throw BadArrays{};
  for (std::size_t task = 0; task < function_.size(); ++task) {
    const auto function = function_[task];
    if (function < -1 || function >= functions_) throw BadArrays{};
    if (function < 0) {
      if (!call_back_) throw BadArrays{};
      continue;
    }
    const i64 given = argument_ptr_[task + 1] - argument_ptr_[task] - reals_[function];
    const i64 count = given + own_ptr_[function + 1] - own_ptr_[function];
    if (given < 0 || count > TASKSIM_MAX_ARGUMENTS) throw BadArrays{};
    if (tells_[function] == TASKSIM_TELLS_LAST && !count) throw BadArrays{};
  }
}

i64 Program::call(int task, int worker) const {
  const auto function = function_[task];
  void *all[TASKSIM_MAX_ARGUMENTS];
  const auto real = arguments_.begin() + argument_ptr_[task + 1] - reals_[function];
  void **end = std::copy(arguments_.begin() + argument_ptr_[task], real, all);
  const auto own = own_.begin() + worker * own_ptr_[functions_];
  end = std::copy(own + own_ptr_[function], own + own_ptr_[function + 1], end);
  i64 told;
  if (reals_[function]) {
    double reals[TASKSIM_MAX_REALS] = {};
    for (int i = 0; i < reals_[function]; ++i)
      reals[i] = std::bit_cast<double>(reinterpret_cast<std::uintptr_t>(real[i]));
    told = CALLERS_WITH_REALS[end - all](address_[function], all, reals);
  } else {
    told = CALLERS[end - all](address_[function], all);
  }
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
