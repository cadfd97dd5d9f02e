#include "engine/voice_cache.h"

#include <utility>

#include "model/error.h"

namespace sonant {

void require_same_prefix(const std::string& key, const PrefixIdentity& known,
                         const PrefixIdentity& given) {
  if (known == given) return;
  throw Error("bad_request", "The prefix key '" + key + "' already names other rows (" +
                                 std::to_string(known.rows) + " of them, " +
                                 std::to_string(given.rows) +
                                 " given): each prefix needs a key of its own.");
}

std::shared_ptr<const LmPrefix> VoiceCache::find(const std::string& key,
                                                 const PrefixIdentity& identity) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  require_same_prefix(key, found->second->identity, identity);
  order_.splice(order_.begin(), order_, found->second);
  return found->second->prefix;
}

void VoiceCache::insert(const std::string& key, const PrefixIdentity& identity,
                        std::shared_ptr<const LmPrefix> prefix) {
  if (prefix->bytes() > capacity_) return;
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  bytes_ += prefix->bytes();
  order_.push_front({key, identity, std::move(prefix)});
  by_key_[key] = order_.begin();
  while (bytes_ > capacity_) {
    drop(std::prev(order_.end()));
    ++evictions_;
  }
}

void VoiceCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->prefix->bytes();
  by_key_.erase(entry->key);
  order_.erase(entry);
}

}  // namespace sonant
