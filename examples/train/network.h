// A network with one hidden layer, trained by stochastic gradient descent with momentum. Plain
// loops in a fixed order, so that the same inputs give the same bits on every run.
#ifndef PHALANX_EXAMPLES_TRAIN_NETWORK_H_
#define PHALANX_EXAMPLES_TRAIN_NETWORK_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "digits.h"

namespace train {

class Network {
 public:
  static constexpr int kHidden = 64;
  static constexpr int kWeights = kHidden * (kPixels + 1) + kClasses * (kHidden + 1);

  // `seed` decides the first weights.
  explicit Network(uint32_t seed);

  // Adds the gradient of the cross-entropy loss for `digit` to `gradient` (kWeights values);
  // returns the loss.
  float AddGradient(const Digit& digit, absl::Span<float> gradient) const;
  // Moves the weights against `gradient`.
  void Update(absl::Span<const float> gradient, float learning_rate, float momentum);

  // All that training changes, for whoever saves it.
  absl::Span<float> weights() { return absl::MakeSpan(weights_); }
  absl::Span<float> velocity() { return absl::MakeSpan(velocity_); }

  int Classify(const Digit& digit) const;
  // 64-bit FNV-1a over the weights' bytes.
  uint64_t Digest() const;

 private:
  struct Activations {
    std::array<float, kHidden> hidden;
    std::array<float, kClasses> probability;
  };
  Activations Forward(const Digit& digit) const;

  // Rows of the hidden layer (pixels, then bias), then rows of the output layer (hidden, then
  // bias).
  std::vector<float> weights_;
  std::vector<float> velocity_;
};

}  // namespace train

#endif  // PHALANX_EXAMPLES_TRAIN_NETWORK_H_
