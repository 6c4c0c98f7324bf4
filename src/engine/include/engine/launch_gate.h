// Who says when an operation may start, beyond its stream and its channel's order.
#ifndef PHALANX_ENGINE_LAUNCH_GATE_H_
#define PHALANX_ENGINE_LAUNCH_GATE_H_

#include <chrono>
#include <string>

namespace phalanx::engine {

class Operation;

// One for all channels of an engine, and outlives it. Every call may come from any thread; a
// channel makes those about one operation in this order: Issued, Reached, Ended. The gate answers
// with Channel::Launch() or Channel::Refuse(), inside of a call or later.
class LaunchGate {
 public:
  virtual ~LaunchGate() = default;

  // The operation has its place in its channel. Calls for one channel come in that order.
  // `reached`: Reached() would follow at once, and won't.
  virtual void Issued(Operation* operation, bool reached) = 0;
  // Nothing but the gate holds it up: its stream has reached it, and those before it in its channel
  // are done. At most once.
  virtual void Reached(Operation* operation) = 0;
  // It is done, however it ended. The last call about it.
  virtual void Ended(Operation* operation) = 0;

  // The calling thread is about to issue an operation: from now on it may issue others at any time,
  // except while it waits. Blocks, for `patience` at most, while this rank is too far ahead of the
  // others.
  virtual void HostComes(std::chrono::nanoseconds patience) = 0;
  // The calling thread is in no other call of the library than one that waits, for some time
  // already, for this operation; and then not any more.
  virtual void HostWaits(const Operation& operation) = 0;
  // The same, for everything that was issued on a stream.
  virtual void HostWaitsForDevice() = 0;
  virtual void HostGoesOn() = 0;

  // The calling thread has nothing to do until an operation is launched, and lends itself for
  // `patience` at most. False at once when it isn't needed.
  virtual bool AwaitLaunch(std::chrono::nanoseconds patience) = 0;

  // What is known to hold up this job, for the message of a deadline that has passed; else empty.
  virtual std::string Report() = 0;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_LAUNCH_GATE_H_
