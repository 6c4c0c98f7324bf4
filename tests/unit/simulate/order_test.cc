// How messages grow: exact counts on small jobs.
#include "simulate/order.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::simulate {
namespace {

// 8 nodes of 4 ranks; communicators of one rank on each node.
OrderSettings Small() {
  OrderSettings settings;
  settings.ranks = 32;
  settings.ranks_per_node = 4;
  settings.communicators = 4;
  settings.members = 8;
  settings.operations = 3;
  return settings;
}

OrderResult Simulate(const OrderSettings& settings) {
  auto result = SimulateOrder(settings);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

TEST(Announced, AnOperationIsOneMessageEachWayForEachNode) {
  const OrderResult result = Simulate(Small());
  EXPECT_EQ(result.operations, 12U);
  EXPECT_EQ(result.tickets, 12U);
  EXPECT_EQ(result.messages.to_coordinator, 12U * 8U);
  EXPECT_EQ(result.messages.from_coordinator, 12U * 8U);
  EXPECT_EQ(result.messages.busiest_operations, 12U);
  EXPECT_EQ(result.messages.busiest_network, 12U * 2U);
  EXPECT_EQ(result.messages.busiest_local, 12U * 2U);
  EXPECT_EQ(result.messages.all, 12U * 8U * 4U);
}

TEST(Announced, GrowsWithNodesNotRanks) {
  OrderSettings settings = Small();
  settings.communicators = 1;
  settings.stride = 1;
  settings.members = 32;  // everybody
  const OrderResult narrow = Simulate(settings);
  settings.ranks = settings.members = 128;  // on as many nodes
  settings.ranks_per_node = 16;
  const OrderResult wide = Simulate(settings);
  EXPECT_EQ(wide.messages.to_coordinator, 3U * 8U);
  EXPECT_EQ(wide.messages.to_coordinator, narrow.messages.to_coordinator);
  EXPECT_EQ(wide.messages.from_coordinator, narrow.messages.from_coordinator);
  EXPECT_EQ(wide.messages.busiest_network, narrow.messages.busiest_network);
  EXPECT_EQ(narrow.messages.busiest_local, 3U * 4U * 2U);
  EXPECT_EQ(wide.messages.busiest_local, 3U * 16U * 2U);

  settings.ranks_per_node = 4;  // on four times as many
  const OrderResult long_one = Simulate(settings);
  EXPECT_EQ(long_one.messages.to_coordinator, 4 * narrow.messages.to_coordinator);
  EXPECT_EQ(long_one.messages.busiest_network, narrow.messages.busiest_network);
}

TEST(Announced, OnlyParticipantsTakePart) {
  OrderSettings settings = Small();
  settings.communicators = 1;
  const OrderResult small = Simulate(settings);
  settings.ranks *= 16;
  const OrderResult large = Simulate(settings);
  EXPECT_EQ(large.messages.to_coordinator, 3U * 8U);
  EXPECT_EQ(large.messages.all, small.messages.all);
  settings.communicators = 32;  // side by side
  const OrderResult many = Simulate(settings);
  EXPECT_EQ(many.messages.all, 32 * small.messages.all);
  // Four communicators share each node, and no node has to do with the others'.
  EXPECT_EQ(many.messages.busiest_network, 4 * small.messages.busiest_network);
}

TEST(Announced, WhatStaysOnANodeNeverLeavesIt) {
  OrderSettings settings = Small();
  settings.communicators = 8;
  settings.members = 4;
  settings.stride = 1;
  const OrderResult result = Simulate(settings);
  EXPECT_EQ(result.operations, 24U);
  EXPECT_EQ(result.tickets, 0U);
  EXPECT_EQ(result.messages.to_coordinator, 0U);
  EXPECT_EQ(result.messages.from_coordinator, 0U);
  EXPECT_EQ(result.messages.busiest_local, 3U * 4U * 2U);
}

TEST(Announced, OneSlotIsEnough) {
  OrderSettings settings = Small();
  settings.slots = 1;
  settings.communicators = 16;  // four lots that cross
  const OrderResult result = Simulate(settings);
  EXPECT_EQ(result.operations, 48U);
  EXPECT_EQ(result.messages.to_coordinator, 48U * 8U);
}

TEST(Certified, SendsNothing) {
  OrderSettings settings = Small();
  settings.certified = true;
  settings.communicators = 16;
  settings.operations = 50;
  const OrderResult result = Simulate(settings);
  EXPECT_EQ(result.operations, 800U);
  EXPECT_EQ(result.certified_launches, 800U * 8U);
  EXPECT_EQ(result.tickets, 0U);
  EXPECT_EQ(result.messages.all, 0U);
  EXPECT_EQ(result.fences, 0U);
  EXPECT_GT(result.learning_operations, 0U);
  EXPECT_LE(result.learning_operations, 5U * 16U);
}

TEST(Certified, AlsoWithWhatStaysOnItsNode) {
  OrderSettings settings = Small();
  settings.certified = true;
  settings.communicators = 8;
  settings.members = 4;
  settings.stride = 1;
  const OrderResult result = Simulate(settings);
  EXPECT_EQ(result.certified_launches, 24U * 4U);
  EXPECT_EQ(result.messages.all, 0U);
}

TEST(Order, SaysWhatDoesntFit) {
  OrderSettings settings = Small();
  settings.members = 33;
  auto result = SimulateOrder(settings);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(result.status().message()), "--members 33 is more than --ranks 32");
  settings.members = 9;
  result = SimulateOrder(settings);
  EXPECT_EQ(std::string(result.status().message()),
            "--members 9 at --stride 4 need 36 ranks; --ranks is 32");
  settings = Small();
  settings.certified = true;
  settings.slots = 1;
  EXPECT_EQ(SimulateOrder(settings).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace phalanx::simulate
