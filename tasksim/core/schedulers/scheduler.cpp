#include "scheduler.h"

namespace tasksim {

namespace {

std::map<std::string, Maker> &makers() {
  static std::map<std::string, Maker> known;
  return known;
}

}  // namespace

Options::Options(const tasksim_scheduler &given) : twister_(given.twister), seed_(given.seed) {
  for (i64 k = 0; k < given.numbers; ++k)
    numbers_[given.number_names[k]] = given.number_values[k];
  for (i64 k = 0; k < given.tables; ++k)
    tables_[given.table_names[k]] = {given.table_values[k],
                                     static_cast<std::size_t>(given.table_lengths[k])};
}

double Options::number(const std::string &name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) throw BadArrays{};
  return found->second;
}

i64 Options::count(const std::string &name) const {
  constexpr double MAX_EXACT_INTEGER = 9007199254740992.0;  // whole numbers up to 2^53 are exact
  const double found = number(name);
  if (!(found >= 0.0 && found <= MAX_EXACT_INTEGER)) throw BadArrays{};
  return static_cast<i64>(found);
}

std::span<const i64> Options::table(const std::string &name) const {
  const auto found = tables_.find(name);
  if (found == tables_.end()) throw BadArrays{};
  return found->second;
}

Twister Options::twister() const { return twister_ ? Twister(twister_) : Twister(seed_); }

Register::Register(const std::string &name, Maker maker) { makers()[name] = std::move(maker); }

std::unique_ptr<Scheduler> make_scheduler(const tasksim_scheduler &given) {
  const auto found = makers().find(given.name);
  return found == makers().end() ? nullptr : found->second(Options(given));
}

}  // namespace tasksim
