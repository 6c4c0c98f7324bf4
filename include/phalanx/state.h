// What a program keeps from one step to the next, as the library sees it.
#ifndef PHALANX_STATE_H_
#define PHALANX_STATE_H_

#include <cstddef>
#include <string>

namespace phalanx {

// Part of a rank's state: host memory that the program owns. Every rank may have others, but a rank
// always the same: names, sizes and order.
struct StateRegion {
  std::string name;  // unique on its rank
  void* data = nullptr;
  size_t bytes = 0;
};

}  // namespace phalanx

#endif  // PHALANX_STATE_H_
