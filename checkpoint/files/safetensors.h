// The safetensors format: 8 bytes of little-endian header length, the header as JSON padded with
// spaces, then the regions' bytes without gaps.
#ifndef PHALANX_CHECKPOINT_FILES_SAFETENSORS_H_
#define PHALANX_CHECKPOINT_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "checkpoint_files/shard.h"
#include "file_io.h"

namespace phalanx::checkpoint {

using Metadata = std::map<std::string, std::string>;

// The length and the header of a file with these regions, in this order. INVALID_ARGUMENT for
// regions that can't be written: names, shapes, sizes.
absl::StatusOr<std::string> EncodeHeader(absl::Span<const RegionLayout> regions,
                                         const Metadata& metadata);

struct Header {
  uint64_t bytes = 0;                 // up to the regions' bytes
  std::string text;                   // all of them
  std::vector<RegionLayout> regions;  // as they follow each other
};

// DATA_LOSS unless the file is exactly as long as its header says and the header is one that
// EncodeHeader could have given for some regions, but for spaces and the order of keys.
absl::StatusOr<Header> ReadHeader(const InputFile& file);

// What the layout is in the file: a type and a shape.
RegionLayout AsStored(const RegionLayout& layout);

// "F32 [2, 3], 24 bytes".
std::string DescribeLayout(const RegionLayout& layout);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_SAFETENSORS_H_
