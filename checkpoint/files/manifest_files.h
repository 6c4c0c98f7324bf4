// Whether the files that a manifest names are there.
#ifndef PHALANX_CHECKPOINT_FILES_MANIFEST_FILES_H_
#define PHALANX_CHECKPOINT_FILES_MANIFEST_FILES_H_

#include <string>

#include "checkpoint_files/manifest.h"

namespace phalanx::checkpoint {

// The first file that isn't there or has another size, and what is wrong; "" if there is none.
std::string FilesFault(const VersionPlace& place, const Manifest& manifest);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_MANIFEST_FILES_H_
