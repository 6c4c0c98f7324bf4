// What ranks do, as the ordering simulation runs it: threads that issue operations on streams and
// wait.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_PROGRAM_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_PROGRAM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ordering/messages.h"
#include "ordering/names.h"
#include "ordering/roster.h"
#include "ordering/signature.h"

namespace phalanx::ordering::simulation {

struct Call {
  Lane lane;
  Signature signature;
  std::string label;  // for traces, and for `hsNAME`
};

struct Instruction {
  enum class Kind : uint8_t {
    kIssue,       // `calls`, on `stream`: one, or the parts of a group
    kHostWait,    // for the instruction `target` of the same thread
    kDeviceWait,  // for everything that the rank has issued
    kStop,        // never comes back to the library
  };
  Kind kind = Kind::kIssue;
  std::vector<Call> calls;
  uint32_t stream = 0;
  bool beside = false;  // one unit with what stands before it on the stream
  size_t target = 0;
};

using Thread = std::vector<Instruction>;

struct Program {
  std::vector<std::vector<Thread>> ranks;  // threads of each rank
  std::vector<int> node_of_rank;
  std::vector<Ranks> communicators;  // members, by number
  int slots = 2;                     // of each device
  bool device_wait_holds = false;    // a device-wide wait holds back later launches

  Roster MakeRoster() const;
};

// Reads the notation of docs/ordering.md: ranks parted by `|`, threads by `&`, instructions by `;`.
//   A        an all-reduce on a communicator of its own, of all ranks that name it
//   A@c/s1   on communicator c, on stream 1;  A:8 with count 8;  A#k with key k;  A%kind, see below
//   >1 <0    a send to rank 1, a receive from rank 0;  ~<0: beside what stands before it
//   G{X;Y}/s0  a group;  hs: wait for the last instruction's result;  hsB: for B's;  ds: for the
//   device 3*(…)    three times
// %max: another reduction; %bf16: another type; %root1: a broadcast from rank 1; %a2a: all-to-all;
// %split: a split of the communicator.
// All ranks are on one node until the caller says otherwise.
Program Parse(const std::string& text);

std::string Describe(const Program& program);

// Everything that the program issues, each operation once, in the order of their labels; `random`
// shuffles them. Operations of one lane stay in order.
Schedule ScheduleOf(const Program& program, std::mt19937_64* random = nullptr);

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_PROGRAM_H_
