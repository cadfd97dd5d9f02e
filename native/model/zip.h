// The directory of a zip file whose entries are stored, not compressed, so that they can be used
// where they lie. Input is hostile: every length and offset is checked against the file and against
// what the file says elsewhere. Checksums are not computed: that would read all weights at start.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace sonant {

// The bytes of each entry by its name; names and bytes are views into `file`. zip64 and data
// descriptors are understood. Throws Error("model_invalid") with `path` in its sentence for anything
// that is cut short, compressed, encrypted, spread over disks, doubled, overlapping or contradictory.
std::map<std::string_view, std::span<const std::byte>> read_zip(const std::string& path, std::span<const std::byte> file);

}  // namespace sonant
