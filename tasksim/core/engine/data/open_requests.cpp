#include "open_requests.h"

namespace tasksim {

OpenRequests::OpenRequests(const Clock &clock, Copies &copies, const Ways &ways,
                           const CopyEstimates &estimates, Requests &requests,
                           std::vector<Routine *> all_keepers)
    : keepers(std::move(all_keepers)),
      of(copies.size.size()),
      clock_(clock),
      copies_(copies),
      ways_(ways),
      estimates_(estimates),
      requests_(requests),
      memories_(static_cast<int>(keepers.size())),
      towards_(copies.size.size() * keepers.size(), 0) {
  for (int memory = 0; memory < memories_; ++memory) posts.emplace_back(memories_);
}

RequestRef OpenRequests::ask(const Need &need, int memory, const Purpose &purpose) {
  const std::vector<Hop> place{{NOWHERE, memory}};
  const auto &hops = need.reads ? hops_to(memory, need.handle) : place;
  if (hops.empty()) throw Broken{TASKSIM_BUG, purpose.task};
  if (RequestRef found = find(need.handle, hops.back(), purpose.task)) {
    found->write |= need.writes;
    if (purpose.kind < found->kind) promote(found, purpose.kind);
    return found;
  }
  RequestRef last = requests_.make(need.handle, hops.back(), purpose, need.writes);
  open(last);
  send(before(last, {hops.data(), hops.size() - 1}));
  return last;
}

void OpenRequests::ask_again(const RequestRef &request) {
  const auto &hops = hops_to(request->target, request->handle);
  if (hops.empty()) throw Broken{TASKSIM_BUG, request->task};
  request->source = hops.back().source;
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
  if (request->reason != WRITE_BACK) request->reason = kind;
  keepers[own]->notify();
  const auto &others = of[request->handle];  // may change meanwhile, as a list may in Python
  for (std::size_t k = 0; k < others.size(); ++k) {
    const RequestRef other = others[k];
    if (other->next_hop.get() == request.get() && other->kind > kind) promote(other, kind);
  }
}

void OpenRequests::arrived(const RequestRef &request) {
  request->channel->arrived.push_back(request);
  const int own = handler(request);
  ++posts[own].arrived;
  keepers[own]->notify();
}

void OpenRequests::cancel_idle(int handle) {
  for (const auto &request : of[handle])
    if (request->kind == IDLE) request->cancel();
}

void OpenRequests::close(const RequestRef &request) {
  const int handle = request->handle;
  auto &requests = of[handle];
  const RequestRef kept = request;  // *request* may be one of them
  requests.erase(std::find_if(requests.begin(), requests.end(),
                              [&](const auto &each) { return each.get() == kept.get(); }));
  --open_;
  if (!--towards_[i64{handle} * memories_ + kept->target])
    copies_.expect_no_more(kept->handle, kept->target);
}

const std::vector<Hop> &OpenRequests::hops_to(int memory, int handle) const {
  const int source = estimates_.nearest(copies_.valid[handle], memory, copies_.size[handle]);
  return ways_.hops(source, memory);
}

// Opens the requests for the *hops* before *request*; the first to be made.
RequestRef OpenRequests::before(RequestRef request, std::span<const Hop> hops) {
  const Purpose purpose{request->kind, request->task, request->priority};
  for (std::size_t k = hops.size(); k--;) {
    RequestRef earlier = requests_.make(request->handle, hops[k], purpose, false);
    earlier->next_hop = std::move(request);
    open(earlier);
    request = std::move(earlier);
  }
  return request;
}

void OpenRequests::open(const RequestRef &request) {
  request->asked = clock_.now;
  of[request->handle].push_back(request);
  ++open_;
  ++towards_[i64{request->handle} * memories_ + request->target];
  copies_.expect(request->handle, request->target);
}

// The open request for this copy of no task, or of the same from wherever it is.
RequestRef OpenRequests::find(int handle, const Hop &hop, int task) const {
  for (const auto &request : of[handle]) {
    if (request->cancelled() || request->target != hop.target) continue;
    if (request->task < 0 || task < 0) {
      if (request->source == hop.source) return request;
    } else if (request->task == task && (request->source < 0) == (hop.source < 0)) {
      return request;
    }
  }
  return {};
}

}  // namespace tasksim
