// Reading the index of a sharded checkpoint.
#include "model/shard_index.h"

#include <string_view>

#include "model/file_error.h"
#include "model/json.h"

namespace sonant {
namespace {

constexpr size_t kMaxShards = 1000;

bool is_plain_name(const std::string& file) {
  return !file.empty() && file.size() <= 255 && file[0] != '.' && file.find_first_of(std::string_view("/\\:\0", 4)) == std::string::npos;
}

uint64_t read_total_size(const std::string& path, const Json& index) {
  const Json* metadata = index.find("metadata");
  const Json* total = metadata ? metadata->find("total_size") : nullptr;
  if (!total) return 0;
  if (!total->is_integer() || total->as_number() < 0) invalid_file(path, "its total_size is not a whole number of at least 0");
  return static_cast<uint64_t>(total->as_integer());
}

}  // namespace

ShardIndex read_shard_index(const std::string& path) {
  const Json json = Json::parse_file(path);
  const Json* map = json.find("weight_map");
  if (!map || !map->is(Json::Kind::kObject)) invalid_file(path, "it has no weight_map");
  ShardIndex index;
  for (const JsonMember& member : map->as_object()) {
    if (!member.value.is(Json::Kind::kString)) invalid_file(path, show_tensor(member.key) + " is not mapped to a file name");
    const std::string& file = member.value.as_string();
    if (!is_plain_name(file)) invalid_file(path, show_tensor(member.key) + " is mapped to a file outside the folder or without a name");
    index.shards[file].push_back(member.key);
    if (index.shards.size() > kMaxShards) invalid_file(path, "it names more than " + std::to_string(kMaxShards) + " files");
  }
  if (index.shards.empty()) invalid_file(path, "its weight_map is empty");
  index.total_size = read_total_size(path, json);
  return index;
}

}  // namespace sonant
