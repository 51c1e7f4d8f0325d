#include "cluster.h"

#include <algorithm>
#include <cmath>

namespace tasksim::cluster {

namespace {

constexpr i64 MAX_COUNT = i64{1} << 31;       // nodes, links, ways, messages
constexpr i64 MAX_TICKS = i64{1} << 60;    // most ticks of one duration: 36 years

// The array *values*, which may only be null if it is empty.
template <class T>
std::span<const T> column(const T *values, i64 count) {
  expect(count >= 0 && count < MAX_COUNT && (values || !count));
  return {values, static_cast<std::size_t>(count)};
}

template <class T>
void expect_within(std::span<const T> values, i64 least, i64 most) {
  for (const T value : values) expect(value >= least && value <= most);
}

void expect_positive(std::span<const double> values) {
  for (const double value : values) expect(value > 0.0);
}

const Graph &graph_of(const void *object) {
  expect(object);
  return *static_cast<const Graph *>(object);
}

std::unique_ptr<Scheduler> scheduler_of(const tasksim_member &given) {
  expect(given.question && given.scheduler && given.platform);
  auto scheduler = make_scheduler(*given.scheduler);
  if (!scheduler) throw Broken{TASKSIM_UNKNOWN};
  return scheduler;
}

}  // namespace

ClusterReplay::Member::Member(ClusterReplay &cluster, int number, const tasksim_member &given,
                              std::unique_ptr<Scheduler> own)
    : Membership(graph_of(given.visible), column(given.order, graph_of(given.graph).tasks),
                 static_cast<int>(given.first_ready), cluster.kernel_, cluster.cores_.get()),
      cluster(cluster),
      scheduler(std::move(own)),
      communicator(*cluster.office_.communicators[number]),
      node(graph_of(given.graph), *static_cast<const Platform *>(given.platform), *given.question,
           *scheduler, cluster.clock_, this),
      main(node.routine()) {}

// Whether the node itself has anything to do, besides waiting for messages.
bool ClusterReplay::Member::busy() const {
  const auto is_own = [this](int task) { return task < node.own_tasks; };
  return std::any_of(node.ledger.taken.begin(), node.ledger.taken.end(), is_own) ||
         !node.requests.none() || (node.landing && node.landing->open) || !node.ledger.all_submitted || !communicator.quiet();
}

ClusterReplay::ClusterReplay(const tasksim_cluster &given)
    : given_(given), office_{clock_, Flows(clock_, column(given.capacity, given.links))} {
  expect(given_.cores >= 0 && given_.cores < MAX_COUNT);
  if (given_.cores) cores_ = std::make_unique<SharedCores>(clock_, given_.cores);
  check_ways();
  make_ways();
  make_messages();
  make_members();
}

void ClusterReplay::check_ways() const {
  expect(given_.nodes >= 1 && given_.nodes < MAX_COUNT && given_.member && given_.in_flight >= 1);
  expect_positive(column(given_.capacity, given_.links));
  expect_positive(column(given_.way_limit, given_.ways));
  expect_positive(column(given_.way_weight, given_.ways));
  const auto pointers = column(given_.way_ptr, given_.ways + 1);
  expect(pointers.front() == 0 && pointers.back() == given_.uses);
  expect(std::is_sorted(pointers.begin(), pointers.end()));
  expect_within(column(given_.use_link, given_.uses), 0, given_.links - 1);
  expect_positive(column(given_.use_of_byte, given_.uses));
}

void ClusterReplay::make_ways() {
  for (i64 k = 0; k < given_.uses; ++k)
    uses_.push_back({given_.use_link[k], given_.use_of_byte[k]});
  for (i64 way = 0; way < given_.ways; ++way) {
    const i64 first = given_.way_ptr[way];
    const auto count = static_cast<std::size_t>(given_.way_ptr[way + 1] - first);
    const double limit = given_.way_limit[way], weight = given_.way_weight[way];
    ways_.push_back({limit, weight, limit / weight, {uses_.data() + first, count}});
  }
  if (!given_.envelope_latency) return;
  expect_within(column(given_.envelope_latency, given_.ways), 0, MAX_TICKS);
  expect(given_.envelope_factor > 0.0 && given_.envelope_bytes > 0.0);
  for (i64 way = 0; way < given_.ways; ++way)
    envelopes_.push_back(Transfer{&ways_[way], given_.envelope_latency[way], given_.envelope_factor,
                                  given_.envelope_bytes}
                             .alone());
}

void ClusterReplay::make_messages() {
  const i64 count = given_.messages;
  const auto source = column(given_.source, count), target = column(given_.target, count);
  const auto way = column(given_.way, count);
  expect_within(source, 0, given_.nodes - 1);
  expect_within(target, 0, given_.nodes - 1);
  expect_within(way, 0, given_.ways - 1);
  expect_within(column(given_.latency, count), 0, MAX_TICKS);
  expect_positive(column(given_.factor, count));
  for (const double bytes : column(given_.bytes, count)) expect(bytes >= 0.0 && bytes < 1e18);
  const auto priority = column(given_.priority, count);
  const auto send = column(given_.send, count), receive = column(given_.receive, count);
  const auto lands = column(given_.lands, count);
  const auto eager = column(given_.eager, count), detached = column(given_.detached, count);
  if (given_.isend) office_.isend = column(given_.isend, count);
  if (given_.received) office_.received = column(given_.received, count);
  expect_within(office_.isend, 0, MAX_TICKS);
  expect_within(office_.received, 0, MAX_TICKS);
  office_.ways = ways_;
  office_.envelopes = envelopes_;
  office_.ended.assign(count, -1);
  office_.messages.reserve(count);
  office_.in_flight = given_.in_flight;
  for (i64 k = 0; k < count; ++k)
    office_.messages.push_back({
        .source = source[k],
        .target = target[k],
        .priority = priority[k],
        .send = send[k],
        .receive = receive[k],
        .way = way[k],
        .latency = given_.latency[k],
        .factor = given_.factor[k],
        .bytes = given_.bytes[k],
        .eager = eager[k] != 0,
        .detached = detached[k] != 0,
        .lands = lands[k] != 0,
    });
}

void ClusterReplay::make_members() {
  std::vector<std::int8_t> ends(office_.messages.size(), 0);  // 1: sent, 2: received
  for (int number = 0; number < given_.nodes; ++number) {
    const tasksim_member &member = given_.member[number];
    const Graph &graph = graph_of(member.graph), &visible = graph_of(member.visible);
    expect(visible.tasks <= graph.tasks && visible.handles == graph.handles);
    expect(!member.question->threads || !cores_);
    expect(member.first_ready >= 0 && member.first_ready <= visible.tasks);
    const auto message = column(member.message, graph.tasks - visible.tasks);
    expect_within(message, 0, given_.messages - 1);
    for (int task = visible.tasks; task < graph.tasks; ++task) {
      const int each = message[task - visible.tasks];
      const Message &told = office_.messages[each];
      const bool sends = told.source == number && told.send == task;
      expect(told.source != told.target && !(ends[each] & (sends ? 1 : 2)));
      expect(sends || (told.target == number && told.receive == task));
      ends[each] |= sends ? 1 : 2;
      expect(graph.needs[task].size() == 1);
    }
    const auto order = column(member.order, graph.tasks);
    expect_within(order, 0, graph.tasks - 1);
    std::vector<bool> submitted(graph.tasks, false);
    for (const int task : order) {
      expect(!submitted[task]);
      submitted[task] = true;
    }
    office_.communicators.push_back(std::make_unique<Communicator>(number, message, office_));
    members_.push_back(
        std::make_unique<Member>(*this, number, member, scheduler_of(member)));
  }
  for (const std::int8_t both : ends) expect(both == 3);
}

void ClusterReplay::begin() {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    office_.communicators[k]->begin(members_[k]->node);
    members_[k]->node.begin();
  }
  for (const auto &member : members_) member->main->begin(submission(member->node, *member->main));
}

bool ClusterReplay::go_on(i64 events) {
  const auto has_threads = [](const auto &each) { return each->node.threads != nullptr; };
  if (!std::any_of(members_.begin(), members_.end(), has_threads)) return clock_.run(events);
  return kernel_.run(events, [this] { return done(); });
}

i64 ClusterReplay::done() const {
  i64 done = 0;
  for (const auto &each : members_) done += each->node.ledger.done();
  return done;
}

void ClusterReplay::end() {
  if (!over()) throw Broken{TASKSIM_DROPPED};
}

bool ClusterReplay::idle() const {
  return !office_.under_way &&
         std::none_of(members_.begin(), members_.end(), [](const auto &each) { return each->busy(); });
}

bool ClusterReplay::over() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto &each) { return each->node.ledger.over(); });
}

}  // namespace tasksim::cluster
