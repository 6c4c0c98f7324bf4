// Stands in for libFuzzer where it isn't built: feeds a fuzzer every file of the folders named on
// the command line, and every prefix of each (a cut frame is the commonest bad input), then exits
// with 0.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLongestPrefixTried = 4096;

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void FeedWithPrefixes(const std::vector<uint8_t>& input) {
  LLVMFuzzerTestOneInput(input.data(), input.size());
  for (size_t size = 0; size < input.size() && size <= kLongestPrefixTried; ++size) {
    // A copy of its own size, so that AddressSanitizer sees a read past the end.
    const std::vector<uint8_t> prefix(input.begin(),
                                      input.begin() + static_cast<std::ptrdiff_t>(size));
    LLVMFuzzerTestOneInput(prefix.data(), prefix.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerTestOneInput(nullptr, 0);
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      FeedWithPrefixes(ReadFile(entry.path()));
      ++files;
    }
  }
  std::printf("replayed %d inputs and their prefixes\n", files);
  return 0;
}
