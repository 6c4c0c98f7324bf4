// Trains a small network on handwritten digits, data-parallel: every rank computes the gradient of
// its part of each batch, an all-reduce averages them, and every rank makes the same update. At the
// end all ranks have the same weights, bit for bit, and the same ones from run to run, also when a
// rank was lost meanwhile and a spare took its place.
//
//   phalanx run -n 4 --spares 1 -- train [--epochs N] [--batch N] [--data FILE] [--live]
//
// With --live nothing is saved: after a loss the others go on with the weights that they have, and
// the new rank copies them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "digits.h"
#include "network.h"
#include "phalanx/phalanx.h"

namespace train {
namespace {

constexpr size_t kTestEvery = 6;  // each sixth digit is kept for the test; the rest is trained on
constexpr float kMomentum = 0.9f;
constexpr float kLearningRate = 0.1f;
constexpr uint32_t kShuffleSeed = 2;

struct Settings {
  int epochs = 20;
  int batch = 64;  // digits a step, over all ranks
  std::string data = DefaultDigitsPath();
  bool live = false;
};

absl::StatusOr<Settings> ParseSettings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--live") {
      settings.live = true;
      --i;
      continue;
    }
    if (i + 1 == argc) return absl::InvalidArgumentError(absl::StrCat(flag, " needs a value"));
    const std::string value = argv[i + 1];
    bool good = true;
    if (flag == "--epochs") {
      good = absl::SimpleAtoi(value, &settings.epochs) && settings.epochs > 0;
    } else if (flag == "--batch") {
      good = absl::SimpleAtoi(value, &settings.batch) && settings.batch > 0;
    } else if (flag == "--data") {
      settings.data = value;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag ", flag, "; known are --epochs, --batch, --data and --live"));
    }
    if (!good) return absl::InvalidArgumentError(absl::StrCat(flag, " ", value, " isn't positive"));
  }
  return settings;
}

// The same order on every rank and every run: std::shuffle would leave it to the standard library.
void Shuffle(std::mt19937& random, std::vector<int>* order) {
  for (size_t i = order->size() - 1; i > 0; --i) {
    std::swap((*order)[i], (*order)[random() % (i + 1)]);
  }
}

class Trainer {
 public:
  Trainer(const Settings& settings, const std::vector<Digit>& digits) : settings_(settings) {
    for (size_t i = 0; i < digits.size(); ++i) {
      (i % kTestEvery == kTestEvery - 1 ? test_ : training_).push_back(digits[i]);
    }
    order_.resize(training_.size());
  }

  // Trains from the step that the state was restored to up to the end.
  absl::Status Run(phalanx::View& view, phalanx::Buffer& gradients) {
    gradient_ = absl::MakeSpan(gradients.as<float>(), Network::kWeights);
    const phalanx::StateRegion state[] = {
        {"weights", network_.weights().data(), network_.weights().size() * sizeof(float)},
        {"velocity", network_.velocity().data(), network_.velocity().size() * sizeof(float)},
        {"loss", &loss_, sizeof(loss_)}};
    const auto first = view.Restore(state);
    if (!first.ok()) return first.status();
    epoch_ = 0;
    for (int64_t step = *first; step < settings_.epochs * StepsPerEpoch(); ++step) {
      if (const absl::Status status = Step(view, step); !status.ok()) return status;
      if (settings_.live) continue;
      if (const absl::Status status = view.Checkpoint(state, step); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  void PrintWeights(int rank) const {
    std::printf("rank %d  weights %s\n", rank, absl::StrFormat("%016x", network_.Digest()).c_str());
  }

 private:
  size_t BatchSize() const { return static_cast<size_t>(settings_.batch); }
  int64_t StepsPerEpoch() const {
    return static_cast<int64_t>((training_.size() + BatchSize() - 1) / BatchSize());
  }

  // Each epoch goes through the digits in another order, which depends on nothing but its number.
  void GoToEpoch(int epoch) {
    if (epoch == epoch_) return;
    if (epoch < epoch_ || epoch_ == 0) {
      std::iota(order_.begin(), order_.end(), 0);
      random_.seed(kShuffleSeed);
      epoch_ = 0;
    }
    for (; epoch_ < epoch; ++epoch_) Shuffle(random_, &order_);
  }

  // One batch: every rank takes each size()-th digit of it.
  absl::Status Step(phalanx::View& view, int64_t step) {
    const int64_t within_epoch = step % StepsPerEpoch();
    GoToEpoch(static_cast<int>(step / StepsPerEpoch()) + 1);
    double loss = 0;
    const size_t start = static_cast<size_t>(within_epoch) * BatchSize();
    const size_t end = std::min(start + BatchSize(), order_.size());
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    for (size_t i = start + static_cast<size_t>(view.rank()); i < end;
         i += static_cast<size_t>(view.size())) {
      loss += network_.AddGradient(training_[static_cast<size_t>(order_[i])], gradient_);
    }
    absl::Status status =
        Sum(view, gradient_.data(), gradient_.size(), phalanx::DataType::kFloat32);
    // What is the same on all ranks can be copied to a new one.
    if (status.ok() && settings_.live) status = Sum(view, &loss, 1, phalanx::DataType::kFloat64);
    if (!status.ok()) return status;
    const auto apply = [&] {
      network_.Update(gradient_, kLearningRate / static_cast<float>(end - start), kMomentum);
      loss_ = (within_epoch == 0 ? 0 : loss_) + loss;
      return absl::OkStatus();
    };
    status = settings_.live ? view.Step(step, apply) : apply();
    if (!status.ok()) return status;
    return end == order_.size() ? Report(view) : absl::OkStatus();
  }

  static absl::Status Sum(phalanx::View& view, void* values, size_t count, phalanx::DataType type) {
    return view.world().AllReduce(values, values, count, type, phalanx::ReduceOp::kSum).Wait();
  }

  absl::Status Report(phalanx::View& view) {
    double totals[2] = {!settings_.live || view.rank() == 0 ? loss_ : 0, 0};
    for (size_t i = static_cast<size_t>(view.rank()); i < test_.size();
         i += static_cast<size_t>(view.size())) {
      totals[1] += network_.Classify(test_[i]) == test_[i].label;
    }
    const absl::Status status = Sum(view, totals, 2, phalanx::DataType::kFloat64);
    if (!status.ok() || view.rank() != 0) return status;
    std::printf("epoch %2d  loss %.4f  test accuracy %.2f %%\n", epoch_,
                totals[0] / static_cast<double>(training_.size()),
                100.0 * totals[1] / static_cast<double>(test_.size()));
    std::fflush(stdout);
    return absl::OkStatus();
  }

  const Settings settings_;
  std::vector<Digit> training_;
  std::vector<Digit> test_;
  std::vector<int> order_;  // of the digits in epoch_
  int epoch_ = 0;
  std::mt19937 random_;
  Network network_{1};
  double loss_ = 0;  // in epoch_; of this rank's digits, or with --live of all
  absl::Span<float> gradient_;
};

absl::Status Run(int argc, char** argv) {
  auto options = phalanx::Options::FromFlags(&argc, argv);
  if (!options.ok()) return options.status();
  const auto settings = ParseSettings(argc, argv);
  if (!settings.ok()) return settings.status();
  const auto digits = ReadDigits(settings->data);
  if (!digits.ok()) return digits.status();
  if (digits->size() < kTestEvery) {
    return absl::InvalidArgumentError(absl::StrCat(settings->data, " has too few digits"));
  }

  options->live = settings->live;
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  Trainer trainer(*settings, *digits);
  const absl::Status trained = (*session)->Run([&](phalanx::View& view) -> absl::Status {
    auto gradients = (*session)->Allocate(Network::kWeights * sizeof(float));
    return gradients.ok() ? trainer.Run(view, *gradients) : gradients.status();
  });
  if (!trained.ok()) return trained;
  const int rank = (*session)->view().rank();
  if (rank >= 0) trainer.PrintWeights(rank);
  return (*session)->Close();
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
  const absl::Status status = train::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "train: %s\n", std::string(status.message()).c_str());
  return 1;
}
