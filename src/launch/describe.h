// What a request is called by the ordering service.
#ifndef PHALANX_LAUNCH_DESCRIBE_H_
#define PHALANX_LAUNCH_DESCRIBE_H_

#include <string>

#include "engine/channel.h"
#include "ordering/names.h"

namespace phalanx::launch {

ordering::Lane LaneOf(const engine::Channel& channel, const engine::Request& request);
// "train.cc:120"; empty where it isn't known.
std::string CallSiteOf(const engine::Request& request);

}  // namespace phalanx::launch

#endif  // PHALANX_LAUNCH_DESCRIBE_H_
