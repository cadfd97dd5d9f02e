// The computed prefixes of voices, by key. Least recently used entries leave when their sum of
// bytes passes the capacity; sequences that still read one keep it alive until they end.
// A key is a name, not a proof: an entry is only used for the very rows it was computed from.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "backend/backend.h"
#include "engine/request.h"

namespace sonant {

class VoiceCache {
 public:
  explicit VoiceCache(size_t capacity_bytes) : capacity_(capacity_bytes) {}

  // The prefix under `key`, or null. Throws Error("bad_request") if the key names other rows.
  std::shared_ptr<const LmPrefix> find(const std::string& key, const PrefixIdentity& identity);
  // A prefix larger than the whole cache is not kept.
  void insert(const std::string& key, const PrefixIdentity& identity,
              std::shared_ptr<const LmPrefix> prefix);

  size_t bytes() const { return bytes_; }
  int entries() const { return static_cast<int>(order_.size()); }
  uint64_t evictions() const { return evictions_; }

 private:
  struct Entry {
    std::string key;
    PrefixIdentity identity;
    std::shared_ptr<const LmPrefix> prefix;
  };
  void drop(std::list<Entry>::iterator entry);

  size_t capacity_;
  size_t bytes_ = 0;
  uint64_t evictions_ = 0;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

// Throws Error("bad_request") unless both are the same rows.
void require_same_prefix(const std::string& key, const PrefixIdentity& known,
                         const PrefixIdentity& given);

}  // namespace sonant
