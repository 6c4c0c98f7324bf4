#include <gtest/gtest.h>

#include <iostream>

#include "kernel_choice.h"
#include "scalar_reference.h"

namespace phalanx::device {
namespace {

constexpr ReduceOp kArithmeticOps[] = {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMax,
                                       ReduceOp::kMin};

TEST(Kernels, TheFastestUsableTableIsChosen) {
  const auto usable = UsableKernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(usable.front(), &BaselineKernels());
  EXPECT_EQ(&ChosenKernels(), usable.back());
}

// The chosen table is held to the reference elsewhere; here all the others are.
TEST(Kernels, EveryInstructionSetGivesTheBitsOfTheReference) {
  std::mt19937 random(TestSeed());
  for (const KernelTable* const table : UsableKernels()) {
    std::cout << "kernels: " << table->name << "\n";
    for (const DataType type : kAllTypes) {
      for (const ReduceOp op : kArithmeticOps) {
        for (const size_t source_count : {2, 3, 4, 5, 8}) {
          for (const size_t count : {1, 17, 257, 1000}) {
            std::vector<Bytes> sources;
            std::vector<const void*> pointers;
            std::vector<Factor> factors;
            std::vector<uint64_t> bits;
            for (size_t s = 0; s < source_count; ++s) {
              sources.push_back(RandomElements(type, count, random));
              factors.push_back(SmallFactor(type, random));
              bits.push_back(factors.back().bits());
            }
            for (const Bytes& source : sources) pointers.push_back(source.data());
            Bytes result(count * SizeOf(type));
            table->Of(type, op, false)(pointers.data(), nullptr, source_count, result.data(),
                                       count);
            ASSERT_EQ(result, ReferenceReduceMany(type, op, sources, {}))
                << table->name << " " << NameOf(type) << " " << NameOf(op);
            table->Of(type, op, true)(pointers.data(), bits.data(), source_count, result.data(),
                                      count);
            ASSERT_EQ(result, ReferenceReduceMany(type, op, sources, factors))
                << table->name << " " << NameOf(type) << " " << NameOf(op) << " with factors";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace phalanx::device
