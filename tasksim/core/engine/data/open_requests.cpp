#include "open_requests.h"

namespace tasksim {

OpenRequests::OpenRequests(const Clock &clock, Copies &copies, const Ways &ways,
                           const CopyEstimates &estimates, Requests &requests,
                           std::vector<Routine *> all_keepers)
    : keepers(std::move(all_keepers)),
      of(copies.of.size()),
      clock_(clock),
      copies_(copies),
      ways_(ways),
      estimates_(estimates),
      requests_(requests) {
  const int memories = static_cast<int>(keepers.size());
  for (int memory = 0; memory < memories; ++memory) posts.emplace_back(memories);
}

RequestRef OpenRequests::ask(const Need &need, int memory, const Purpose &purpose) {
  const Hop place{NOWHERE, memory};
  const std::span<const Hop> hops =
      need.reads ? std::span<const Hop>(hops_to(memory, need.handle)) : std::span(&place, 1);
  if (hops.empty()) throw Broken{TASKSIM_BUG, purpose.task};
  if (RequestRef found = find(need.handle, hops.back(), purpose.task)) {
    found->write |= need.writes;
    if (purpose.kind < found->kind) promote(found, purpose.kind);
    return found;
  }
  RequestRef last = requests_.make(need.handle, hops.back(), purpose, need.writes);
  open(last);
  send(before(last, hops.first(hops.size() - 1)));
  return last;
}

void OpenRequests::ask_again(const RequestRef &request) {
  const auto &hops = hops_to(request->target, request->handle);
  if (hops.empty()) throw Broken{TASKSIM_BUG, request->task};
  request->source = static_cast<std::int8_t>(hops.back().source);
  request->channel = nullptr;
  send(before(request, {hops.data(), hops.size() - 1}));
}

void OpenRequests::send(const RequestRef &request) {
  const int source = request->source, target = request->target;
  const int own = handler(request);
  Post &post = posts[own];
  post.add(request, own == target ? post.inward[source >= 0 ? source : target]
                                  : post.outward[target]);
  keepers[own]->notify();
}

void OpenRequests::promote(const RequestRef &request, int kind) {
  const int own = handler(request);
  posts[own].promote(request, kind);
  if (request->reason != WRITE_BACK) request->reason = static_cast<std::int8_t>(kind);
  keepers[own]->notify();
  if (!ways_.any_by_two()) return;
  const auto &others = of[request->handle].requests;  // may change meanwhile, like a list in Python
  for (std::size_t k = 0; k < others.size(); ++k) {
    const RequestRef other = others[k].request;
    if (other->next_hop().get() == request.get() && other->kind > kind) promote(other, kind);
  }
}

void OpenRequests::arrived(const RequestRef &request) {
  request->channel->arrived.push_back(request);
  const int own = handler(request);
  ++posts[own].arrived;
  keepers[own]->notify();
}

void OpenRequests::cancel_idle(int handle) {
  for (const auto &open : of[handle].requests)
    if (open.request->kind == IDLE) open.request->cancel();
}

void OpenRequests::close(const RequestRef &request) {
  const int handle = request->handle;
  auto &requests = of[handle].requests;
  const RequestRef kept = request;  // *request* may be one of them
  requests.erase(std::find_if(requests.begin(), requests.end(),
                              [&](const auto &each) { return each.request.get() == kept.get(); }));
  --open_;
  const int target = kept->target;
  if (std::none_of(requests.begin(), requests.end(),
                   [=](const auto &each) { return each.target == target; }))
    copies_.expect_no_more(handle, target);
}

const std::vector<Hop> &OpenRequests::hops_to(int memory, int handle) const {
  const int source = estimates_.nearest(copies_.of[handle].valid, memory, copies_.of[handle].size);
  return ways_.hops(source, memory);
}

// Opens the requests for the *hops* before *request*; returns the first to be handled.
RequestRef OpenRequests::before(RequestRef request, std::span<const Hop> hops) {
  const Purpose purpose{request->kind, request->task, request->priority};
  for (std::size_t k = hops.size(); k--;) {
    RequestRef earlier = requests_.make(request->handle, hops[k], purpose, false);
    earlier->go_on_with(std::move(request));
    open(earlier);
    request = std::move(earlier);
  }
  return request;
}

void OpenRequests::open(const RequestRef &request) {
  request->asked = clock_.now;
  of[request->handle].requests.push_back({request, request->task, request->target});
  ++open_;
  copies_.expect(request->handle, request->target);
}

Request *OpenRequests::loading(int handle, int memory) const {
  const Asked &asked = of[handle];
  if (!(asked.loading >> memory & 1)) return nullptr;
  for (const auto &open : asked.requests)
    if (open.target == memory && open.request->keeps) return open.request.get();
  throw Broken{TASKSIM_BUG};
}

// The open request for this copy without a task, or for the same from any source.
RequestRef OpenRequests::find(int handle, const Hop &hop, int task) const {
  for (const auto &[request, open_task, target] : of[handle].requests) {
    if (target != hop.target) continue;
    const bool anybodys = open_task < 0 || task < 0;
    if (!(anybodys || open_task == task) || request->cancelled()) continue;
    if (anybodys ? request->source == hop.source : (request->source < 0) == (hop.source < 0))
      return request;
  }
  return {};
}

}  // namespace tasksim
