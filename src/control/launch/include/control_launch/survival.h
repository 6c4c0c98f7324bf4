// What a job can lose and go on, for whoever starts it.
#ifndef PHALANX_CONTROL_LAUNCH_SURVIVAL_H_
#define PHALANX_CONTROL_LAUNCH_SURVIVAL_H_

#include <map>
#include <string>
#include <vector>

#include "control_protocol/loss_policy.h"

namespace phalanx::control {

struct JobShape {
  struct Node {
    int ranks = 0;
    int spares = 0;
  };
  std::vector<Node> nodes;  // each a machine, or stands for one
  int restarts = 0;         // on each node
  int replicas = 2;         // asked for
  bool in_etcd = false;     // its record is
  LossPolicy on_loss;
};

// What the programs will read in PHALANX_ON_LOSS; they say what is wrong with it.
LossPolicy LossPolicyIn(const std::map<std::string, std::string>& variables);

// One line without an end. The job's programs use Session::Run(), and every rank is in it.
std::string WhatIsSurvivable(const JobShape& shape);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_SURVIVAL_H_
