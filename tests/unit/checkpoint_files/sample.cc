// checkpoint_files_sample DIR: writes version 7 of epoch 2 of the job "sample" there, one rank,
// with a region of each type. Byte i of region number r is (7 r + i) mod 251.
#include <cstdio>
#include <string>
#include <vector>

#include "checkpoint_files/manifest.h"
#include "checkpoint_files/shard.h"

namespace phalanx::checkpoint {
namespace {

absl::Status WriteSample(const std::string& folder) {
  std::vector<RegionLayout> layouts;
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    layouts.push_back({.name = NameOf(type),
                       .type = type,
                       .shape = {3, 5},
                       .bytes = uint64_t{15} * SizeOf(type)});
  }
  layouts.push_back({.name = "scalar", .type = DataType::kFloat32, .shape = {}, .bytes = 4});
  layouts.push_back({.name = "empty", .type = DataType::kInt64, .shape = {0, 4}, .bytes = 0});
  layouts.push_back({.name = "Größe \"σ\"\n", .type = {}, .shape = {}, .bytes = 11});
  std::vector<std::string> memory;
  for (size_t r = 0; r < layouts.size(); ++r) {
    memory.emplace_back(layouts[r].bytes, '\0');
    for (size_t i = 0; i < memory[r].size(); ++i)
      memory[r][i] = static_cast<char>((7 * r + i) % 251);
  }
  std::vector<SavedRegion> regions;
  for (size_t r = 0; r < layouts.size(); ++r) regions.push_back({layouts[r], memory[r].data()});
  const VersionPlace place{.folder = folder, .job = "sample", .name = {.version = 7, .epoch = 2}};
  const absl::StatusOr<ShardRecord> record = WriteShard(place, 0, 1, regions);
  if (!record.ok()) return record.status();
  return WriteManifest(place, {.committed_unix_ms = 1, .shards = {*record}});
}

}  // namespace
}  // namespace phalanx::checkpoint

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = phalanx::checkpoint::WriteSample(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
