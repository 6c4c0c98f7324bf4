#include "safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "json_text.h"

namespace phalanx::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr char kMetadata[] = "__metadata__";
constexpr size_t kLengthBytes = 8;
constexpr size_t kMostDimensions = 64;

struct TypeName {
  DataType type;
  const char* name;
};

constexpr std::array<TypeName, kDataTypeCount> kTypeNames = {{
    {DataType::kInt8, "I8"},
    {DataType::kUint8, "U8"},
    {DataType::kInt32, "I32"},
    {DataType::kUint32, "U32"},
    {DataType::kInt64, "I64"},
    {DataType::kUint64, "U64"},
    {DataType::kFloat16, "F16"},
    {DataType::kFloat32, "F32"},
    {DataType::kFloat64, "F64"},
    {DataType::kBfloat16, "BF16"},
    {DataType::kFloat8E4m3, "F8_E4M3"},
    {DataType::kFloat8E5m2, "F8_E5M2"},
}};

const char* StoredName(DataType type) {
  for (const TypeName& known : kTypeNames) {
    if (known.type == type) return known.name;
  }
  return nullptr;
}

std::optional<DataType> TypeNamed(const std::string& name) {
  for (const TypeName& known : kTypeNames) {
    if (name == known.name) return known.type;
  }
  return std::nullopt;
}

// Nothing if they don't fit a file or a dimension is negative.
std::optional<uint64_t> BytesOf(DataType type, const std::vector<int64_t>& shape) {
  uint64_t bytes = SizeOf(type);
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dimension), &bytes)) {
      return std::nullopt;
    }
  }
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

// `stored` has a type. Says what is wrong with it, or "".
std::string Fault(const RegionLayout& stored) {
  if (stored.name.size() > kMaxRegionNameBytes) {
    return absl::StrCat("the name has ", stored.name.size(), " bytes, more than ",
                        kMaxRegionNameBytes);
  }
  if (stored.name == kMetadata) return "the format means something else by this name";
  if (StoredName(*stored.type) == nullptr) return "no such type";
  if (stored.shape.size() > kMostDimensions) {
    return absl::StrCat("has ", stored.shape.size(), " dimensions, more than ", kMostDimensions);
  }
  const std::optional<uint64_t> bytes = BytesOf(*stored.type, stored.shape);
  if (bytes != stored.bytes) {
    return absl::StrCat("has ", stored.bytes, " bytes, but ", StoredName(*stored.type), " [",
                        absl::StrJoin(stored.shape, ", "), "] is ",
                        bytes.has_value() ? absl::StrCat(*bytes, " bytes") : "more than can be");
  }
  return "";
}

// JSON's form of a text; nothing if it isn't UTF-8.
std::optional<std::string> JsonText(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

struct Entry {
  RegionLayout layout;
  uint64_t begin = 0;
  uint64_t end = 0;
};

absl::StatusOr<Entry> ReadEntry(const std::string& name, const Json& json) {
  if (!json.is_object() || json.size() != 3) {
    return absl::InvalidArgumentError("isn't an object with dtype, shape and data_offsets");
  }
  Entry entry;
  entry.layout.name = name;
  PHX_ASSIGN_OR_RETURN(const std::string type, TextAt(json, "dtype"));
  entry.layout.type = TypeNamed(type);
  if (!entry.layout.type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("has the unknown type ", Quoted(type)));
  }
  const auto shape = json.find("shape");
  if (shape == json.end() || !shape->is_array() || shape->size() > kMostDimensions) {
    return absl::InvalidArgumentError("has no shape");
  }
  for (const Json& dimension : *shape) {
    const bool fits =
        dimension.is_number_unsigned() &&
        dimension.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!fits) return absl::InvalidArgumentError("has no shape");
    entry.layout.shape.push_back(dimension.get<int64_t>());
  }
  const auto offsets = json.find("data_offsets");
  if (offsets == json.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    return absl::InvalidArgumentError("has no data_offsets");
  }
  entry.begin = (*offsets)[0].get<uint64_t>();
  entry.end = (*offsets)[1].get<uint64_t>();
  if (entry.begin > entry.end) return absl::InvalidArgumentError("ends before it begins");
  entry.layout.bytes = entry.end - entry.begin;
  const std::string fault = Fault(entry.layout);
  if (!fault.empty()) return absl::InvalidArgumentError(fault);
  return entry;
}

absl::StatusOr<std::vector<Entry>> ReadEntries(const Json& json) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      const bool texts = value.is_object() && std::all_of(value.begin(), value.end(),
                                                          [](auto& v) { return v.is_string(); });
      if (!texts) return absl::InvalidArgumentError("its __metadata__ isn't texts alone");
      continue;
    }
    absl::StatusOr<Entry> entry = ReadEntry(name, value);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("region ", Quoted(name), ": ", std::string(entry.status().message())));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

// Orders them as their bytes lie. They must fill `data_bytes` without gaps.
absl::Status OrderEntries(uint64_t data_bytes, std::vector<Entry>* entries) {
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Entry& entry : *entries) {
    if (entry.begin != end) {
      return absl::InvalidArgumentError(absl::StrCat("region ", Quoted(entry.layout.name),
                                                     ": begins at ", entry.begin,
                                                     " of the data, where ", end, " is next"));
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("its regions have ", end, " bytes, the file has ", data_bytes, " for them"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RegionLayout>> ParseHeader(const std::string& text,
                                                      uint64_t data_bytes) {
  PHX_ASSIGN_OR_RETURN(const Json json, ParseObject(text));
  PHX_ASSIGN_OR_RETURN(std::vector<Entry> entries, ReadEntries(json));
  PHX_RETURN_IF_ERROR(OrderEntries(data_bytes, &entries));
  std::vector<RegionLayout> regions;
  regions.reserve(entries.size());
  for (Entry& entry : entries) regions.push_back(std::move(entry.layout));
  return regions;
}

}  // namespace

RegionLayout AsStored(const RegionLayout& layout) {
  if (layout.type.has_value()) return layout;
  return {.name = layout.name,
          .type = DataType::kUint8,
          .shape = {static_cast<int64_t>(layout.bytes)},
          .bytes = layout.bytes};
}

std::string DescribeLayout(const RegionLayout& layout) {
  const RegionLayout stored = AsStored(layout);
  const char* type = StoredName(*stored.type);
  return absl::StrCat(type != nullptr ? type : "unknown", " [", absl::StrJoin(stored.shape, ", "),
                      "], ", stored.bytes, " bytes");
}

absl::StatusOr<std::string> EncodeHeader(absl::Span<const RegionLayout> regions,
                                         const Metadata& metadata) {
  std::string json = absl::StrCat("{\"", kMetadata, "\":", Json(metadata).dump());
  std::set<std::string> names;
  uint64_t offset = 0;
  for (const RegionLayout& layout : regions) {
    const RegionLayout stored = AsStored(layout);
    const std::optional<std::string> name = JsonText(stored.name);
    std::string fault = Fault(stored);
    if (!name.has_value()) fault = "the name isn't UTF-8 text";
    if (!names.insert(stored.name).second) fault = "there are two of this name";
    uint64_t end = 0;
    if (__builtin_add_overflow(offset, stored.bytes, &end)) fault = "too many bytes for a file";
    if (!fault.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("region ", Quoted(stored.name), ": ", fault));
    }
    absl::StrAppend(&json, ",", *name, ":{\"dtype\":\"", StoredName(*stored.type), "\",\"shape\":[",
                    absl::StrJoin(stored.shape, ","), "],\"data_offsets\":[", offset, ",", end,
                    "]}");
    offset = end;
    if (json.size() + kLengthBytes > kMaxHeaderBytes) {
      return absl::InvalidArgumentError("the regions' names and shapes are too many for a file");
    }
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header;
  for (size_t i = 0; i < kLengthBytes; ++i)
    header += static_cast<char>(json.size() >> 8 * i & 0xff);
  return header + json;
}

absl::StatusOr<Header> ReadHeader(const InputFile& file) {
  const auto damaged = [&](const std::string& what) {
    return absl::DataLossError(absl::StrCat(file.path(), ": ", what));
  };
  if (file.bytes() < kLengthBytes) {
    return damaged(absl::StrCat("has ", file.bytes(), " bytes, too few for a safetensors file"));
  }
  unsigned char length[kLengthBytes];
  PHX_RETURN_IF_ERROR(file.ReadAt(0, length, sizeof length));
  uint64_t json_bytes = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) json_bytes |= uint64_t{length[i]} << 8 * i;
  if (json_bytes > file.bytes() - kLengthBytes || json_bytes > kMaxHeaderBytes) {
    return damaged(absl::StrCat("its header is to have ", json_bytes, " bytes; the file has ",
                                file.bytes(), ", and at most ", kMaxHeaderBytes, " are read"));
  }
  Header header;
  header.bytes = kLengthBytes + json_bytes;
  std::string json(json_bytes, '\0');
  PHX_RETURN_IF_ERROR(file.ReadAt(kLengthBytes, json.data(), json.size()));
  absl::StatusOr<std::vector<RegionLayout>> regions =
      ParseHeader(json, file.bytes() - header.bytes);
  if (!regions.ok()) {
    return damaged(absl::StrCat("the header: ", std::string(regions.status().message())));
  }
  header.regions = *std::move(regions);
  header.text.assign(reinterpret_cast<const char*>(length), sizeof length);
  header.text += json;
  return header;
}

}  // namespace phalanx::checkpoint
