// What a process of a job keeps over all views.
#ifndef PHALANX_API_PARTICIPANT_H_
#define PHALANX_API_PARTICIPANT_H_

#include <memory>

#include "base/ids.h"
#include "base/logger.h"
#include "control_client/client.h"
#include "device/device.h"
#include "find_agent.h"
#include "phalanx/options.h"
#include "saver.h"
#include "stepper.h"

namespace phalanx::api {

struct Participant {
  Options options;
  Logger logger;
  Incarnation incarnation;
  std::unique_ptr<device::Device> device;  // a program's streams outlive views
  FoundAgent agent;
  std::unique_ptr<Saver> saver;
  std::unique_ptr<Stepper> stepper;
  std::unique_ptr<control::Client> client;  // null once the process has given up its part
};

}  // namespace phalanx::api

#endif  // PHALANX_API_PARTICIPANT_H_
