#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "link_puppet.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string flag = phalanx::conformance::kPuppetFlag;
    if (argument.compare(0, flag.size(), flag) == 0) {
      return phalanx::conformance::RunPuppet(std::atoi(argument.c_str() + flag.size()));
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
