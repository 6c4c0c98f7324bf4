// A job with a status page, whose spare comes when the test says so: meanwhile a recovery waits.
#ifndef PHALANX_TESTS_END_TO_END_LIBRARY_JOB_PAGE_FIXTURE_H_
#define PHALANX_TESTS_END_TO_END_LIBRARY_JOB_PAGE_FIXTURE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http_get.h"
#include "nlohmann/json.hpp"
#include "subprocess.h"

namespace phalanx::testing_support {

class JobPageFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/job_page_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_EQ(mkfifo(Gate().c_str(), S_IRUSR | S_IWUSR), 0);
    std::ofstream(Program()) << "#!/bin/sh\n"
                                "[ -z \"$PHALANX_SPARE\" ] || read -r word < '"
                             << Gate() << "'\nexec '" << TRAIN << "' \"$@\"\n";
    std::filesystem::permissions(Program(), std::filesystem::perms::owner_all);
  }
  void TearDown() override {
    run_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string Gate() const { return folder_ + "/gate"; }
  std::string Program() const { return folder_ + "/program"; }

  // Trains for longer than any test: the test ends it.
  void Start(std::vector<std::string> options) {
    options.insert(options.begin(), {PHALANX_COMMAND, "run", "--status-port", "0"});
    options.insert(options.end(), {"--", Program(), "--epochs", "1000000"});
    run_ = std::make_unique<Subprocess>(options);
    const auto url = [this] { return run_->error().find("the job's status: http://"); };
    ASSERT_TRUE(run_->AwaitOutput([&] {
      return url() != std::string::npos && run_->error().find('\n', url()) != std::string::npos;
    }));
    const size_t at = run_->error().find("http://", url());
    url_ = run_->error().substr(at, run_->error().find('\n', at) - at);
  }
  // The spare may join.
  void OpenGate() const {
    const int fd = open(Gate().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(fd, 0) << "no spare waits";
    ASSERT_EQ(write(fd, "go\n", 3), 3);
    close(fd);
  }

  // Asks until `done` says so of the answer. null at the deadline, with a failure.
  nlohmann::json AwaitStatus(const std::function<bool(const nlohmann::json&)>& done) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::string last;
    while (std::chrono::steady_clock::now() < deadline) {
      const HttpAnswer answer = HttpGet(url_ + "status.json");
      last = answer.body;
      const nlohmann::json status = nlohmann::json::parse(answer.body, nullptr, false);
      if (answer.status == 200 && status.contains("job") && done(status)) return status;
    }
    ADD_FAILURE() << "the last answer: " << last << "\n" << run_->error();
    return {};
  }
  static bool WaitsForSpare(const nlohmann::json& status) {
    return status["recovery"].is_object() && status["recovery"]["awaited"].empty() &&
           !status["recovery"]["without_process"].empty();
  }
  static bool HasRecovered(const nlohmann::json& status) {
    return status["recoveries_made"] == 1 && status["recovery"].is_null();
  }

  std::string folder_;
  std::string url_;
  std::unique_ptr<Subprocess> run_;
};

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_LIBRARY_JOB_PAGE_FIXTURE_H_
