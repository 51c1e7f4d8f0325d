// Communicator: the communication thread of a node, which sends and receives its messages
// (engine/cluster/communicator.py).
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../../schedulers/line.h"
#include "../machine/node.h"
#include "../threads/workers.h"
#include "flows.h"

namespace tasksim::cluster {

// A message and its progress, in one cache line (engine/cluster/communicator.py).
struct alignas(64) Message {
  int source, target, priority;
  int send, receive;  // its communication tasks
  int way;
  i64 latency;           // as in Transfer
  double factor, bytes;
  bool eager, detached;      // moves when it is sent; is sent when it moves
  bool lands;                // brings a datum to a node that does not own it
  bool awaited = false;      // whether the receive is ready
  bool announced = false;    // whether the receiver knows of it
  bool moving = false, arrived = false;
  i64 started = -1;
};
static_assert(sizeof(Message) == 64);

class Communicator;

// Shared state of the communicators of a cluster.
struct Office {
  Clock &clock;
  Flows flows;
  std::vector<Message> messages{};
  std::vector<i64> ended{};                  // per message, its end
  std::span<const i64> isend{}, received{};  // cost for its hosts, in ticks; may be empty
  std::span<const Way> ways{};
  std::span<const i64> envelopes{};          // ticks per way; empty: no envelopes
  std::vector<std::unique_ptr<Communicator>> communicators{};
  i64 in_flight = 0;   // most messages in flight from a node
  i64 under_way = 0;   // moving messages and envelopes
};

// It sleeps until it has work, and works at the end of the instant: so the most urgent of the sends
// that become ready together goes first.
class alignas(64) Communicator {
 public:
  // *message*: per communication task.
  Communicator(int number, std::span<const std::int32_t> message, Office &office);

  void begin(Node &node);  // once the node has its workers
  void take(int task);     // a released communication task
  void send_for(int task) const;  // prefetches the record of its message
  void hear_end(int task);  // frees the memory of received data after the last reader
  bool quiet() const;      // nothing to do until a message or a datum comes

 private:
  struct Courier : Taker {
    void arrive() override { communicator->land(task); }
    Communicator *communicator;
  };
  struct Sending {
    i64 urgency, turn;
    int message;

    bool before(const Sending &other) const {
      if (urgency != other.urgency) return urgency < other.urgency;
      return turn != other.turn ? turn < other.turn : message < other.message;
    }
  };
  struct EnvelopeCome : Awaiting {
    explicit EnvelopeCome(Communicator &communicator) : communicator(communicator) {}
    void happen(i64 message) override { communicator.on_envelope(static_cast<int>(message)); }
    void soon(i64 message, int turns) const override {
      communicator.send_for_move(static_cast<int>(message), turns);
    }
    Communicator &communicator;
  };
  struct DataCome : Awaiting {
    explicit DataCome(Communicator &communicator) : communicator(communicator) {}
    void happen(i64 message) override { communicator.on_data(static_cast<int>(message)); }
    void soon(i64 message, int turns) const override {
      communicator.send_for_ends(static_cast<int>(message), turns);
    }
    Communicator &communicator;
  };

  struct Landed : Awaiting {
    explicit Landed(Communicator &communicator) : communicator(communicator) {}
    void happen(i64 task) override { communicator.ready(static_cast<int>(task)); }
    Communicator &communicator;
  };
  struct RoomFound : Awaiting {
    explicit RoomFound(Communicator &communicator) : communicator(communicator) {}
    void happen(i64) override {
      communicator.waits_for_room_ = false;
      communicator.stir();
    }
    Communicator &communicator;
  };

  int number_of(int task) const { return message_[task - node_->own_tasks]; }
  Message &message_of(int task) { return office_.messages[number_of(task)]; }
  void land(int task);
  void find_readers();
  i64 size_of(int message) const;
  Landing *landing() const { return node_->landing.get(); }
  void ready(int task);
  i64 priority_of(const Message &message) const {  // schedulers may not know any
    return node_->question.uses_priorities ? message.priority : 0;
  }
  void stir();  // the thread continues at the end of this instant
  Steps<> steps();
  Steps<> sleep_on_bell();
  Steps<> send();
  Steps<> end(int task);
  void end_soon(int task);
  void sent(const Message &message);
  void hear_of(Message &message);
  void listen();
  void let_come();
  void on_envelope(int message);
  Steps<> open_envelope();
  Steps<> receive_early(int message);
  void move(Message &message);
  void on_data(int message);

  // Prefetches data that are far from the processor on a thousand nodes, like Awaiting::soon: to
  // open the envelope of *message*, or to end its communication tasks.
  void send_for_thread(int turns) const;
  void send_for_move(int message, int turns) const;
  void send_for_ends(int message, int turns) const;
  void send_for_end(int task, int turns) const;

  const int number_;
  std::span<const std::int32_t> message_;
  Office &office_;
  Node *node_ = nullptr;
  EnvelopeCome envelope_come_;
  DataCome data_come_;
  bool listening_ = false;   // whether an envelope is awaited
  bool coming_ = false;      // whether it is on its way
  bool waits_for_room_ = false;
  int envelope_ = NONE;      // message whose envelope has just come
  i64 turn_ = 0;
  i64 last_ready_ = -1;      // time at which a send became ready last
  int last_datum_ = NONE;    // its datum: sends of one datum go in order
  i64 in_flight_ = 0;
  i64 expected_ = 0;       // ready receives without an envelope
  Heap<Sending> out_;      // ready sends
  Line<int> done_;         // ended communication tasks that the node does not know yet
  Line<int> letters_;      // messages for this node whose envelopes were not awaited yet
  std::unordered_set<int> early_;  // messages with memory of their own, not awaited yet
  Landed landed_;
  RoomFound room_found_;
  std::unordered_map<int, int> readers_;             // of a received message, until their ends
  std::unordered_map<int, std::vector<int>> reads_;  // received messages that a task reads
  std::deque<Courier> couriers_;
  std::unique_ptr<threads::Bell> bell_;  // bell of the thread, on a node with threads
  std::unique_ptr<Routine> routine_;  // last: it refers to the members above
};

}  // namespace tasksim::cluster
