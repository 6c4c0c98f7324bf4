// What a request is called and looks like to the ordering service.
#ifndef PHALANX_LAUNCH_DESCRIBE_H_
#define PHALANX_LAUNCH_DESCRIBE_H_

#include <string>

#include "engine/channel.h"
#include "ordering/names.h"
#include "ordering/signature.h"

namespace phalanx::launch {

ordering::Lane LaneOf(const engine::Channel& channel, const engine::Request& request);
ordering::Signature SignatureOf(const engine::Request& request);
// "train.cc:120"; empty where it isn't known.
std::string CallSiteOf(const engine::Request& request);

}  // namespace phalanx::launch

#endif  // PHALANX_LAUNCH_DESCRIBE_H_
