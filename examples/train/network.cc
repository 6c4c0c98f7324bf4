#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace train {
namespace {

constexpr int kOutputLayer = Network::kHidden * (kPixels + 1);

const float* HiddenRow(const std::vector<float>& weights, int unit) {
  return weights.data() + unit * (kPixels + 1);
}

const float* OutputRow(const std::vector<float>& weights, int unit) {
  return weights.data() + kOutputLayer + unit * (Network::kHidden + 1);
}

}  // namespace

Network::Network(uint32_t seed) : weights_(kWeights, 0.0f), velocity_(kWeights, 0.0f) {
  std::mt19937 random(seed);
  const auto uniform = [&](float bound) {
    return bound * (static_cast<float>(random()) / 2147483648.0f - 1.0f);
  };
  for (int i = 0; i < kWeights; ++i) {
    const int inputs = i < kOutputLayer ? kPixels : kHidden;
    weights_[static_cast<size_t>(i)] = uniform(std::sqrt(3.0f / static_cast<float>(inputs)));
  }
}

Network::Activations Network::Forward(const Digit& digit) const {
  Activations result{};
  for (int unit = 0; unit < kHidden; ++unit) {
    const float* row = HiddenRow(weights_, unit);
    float sum = row[kPixels];
    for (int i = 0; i < kPixels; ++i) sum += row[i] * digit.pixels[static_cast<size_t>(i)];
    result.hidden[static_cast<size_t>(unit)] = std::max(sum, 0.0f);
  }
  float largest = -INFINITY;
  for (int unit = 0; unit < kClasses; ++unit) {
    const float* row = OutputRow(weights_, unit);
    float sum = row[kHidden];
    for (int i = 0; i < kHidden; ++i) sum += row[i] * result.hidden[static_cast<size_t>(i)];
    result.probability[static_cast<size_t>(unit)] = sum;
    largest = std::max(largest, sum);
  }
  float total = 0.0f;
  for (float& value : result.probability) total += value = std::exp(value - largest);
  for (float& value : result.probability) value /= total;
  return result;
}

float Network::AddGradient(const Digit& digit, absl::Span<float> gradient) const {
  const Activations at = Forward(digit);
  std::array<float, kHidden> hidden_error{};
  for (int unit = 0; unit < kClasses; ++unit) {
    const float error =
        at.probability[static_cast<size_t>(unit)] - (unit == digit.label ? 1.0f : 0.0f);
    const float* row = OutputRow(weights_, unit);
    float* out = gradient.data() + kOutputLayer + unit * (kHidden + 1);
    for (int i = 0; i < kHidden; ++i) {
      out[i] += error * at.hidden[static_cast<size_t>(i)];
      hidden_error[static_cast<size_t>(i)] += error * row[i];
    }
    out[kHidden] += error;
  }
  for (int unit = 0; unit < kHidden; ++unit) {
    if (at.hidden[static_cast<size_t>(unit)] <= 0.0f) continue;
    const float error = hidden_error[static_cast<size_t>(unit)];
    float* out = gradient.data() + unit * (kPixels + 1);
    for (int i = 0; i < kPixels; ++i) out[i] += error * digit.pixels[static_cast<size_t>(i)];
    out[kPixels] += error;
  }
  const float likelihood = at.probability[static_cast<size_t>(digit.label)];
  return -std::log(std::max(likelihood, 1e-12f));
}

void Network::Update(absl::Span<const float> gradient, float learning_rate, float momentum) {
  for (size_t i = 0; i < weights_.size(); ++i) {
    velocity_[i] = momentum * velocity_[i] - learning_rate * gradient[i];
    weights_[i] += velocity_[i];
  }
}

int Network::Classify(const Digit& digit) const {
  const auto probability = Forward(digit).probability;
  return static_cast<int>(std::max_element(probability.begin(), probability.end()) -
                          probability.begin());
}

uint64_t Network::Digest() const {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float weight : weights_) {
    unsigned char bytes[sizeof(weight)];
    std::memcpy(bytes, &weight, sizeof(weight));
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace train
