// A stack machine for the opcodes that torch.save writes. Values live in one list and are spoken of
// by their place, so shared and cyclic containers cost nothing and are never walked.
#include "model/pickle.h"

#include <cstring>

#include "model/file_error.h"

namespace sonant {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr uint32_t kNothing = UINT32_MAX;  // a place of the memo that was not written

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, const std::string& source, bool (*allowed)(std::string_view), const PickleLimits& limits)
      : bytes_(bytes), source_(source), allowed_(allowed), limits_(limits) {}

  Pickle run() {
    if (bytes_.size() > limits_.max_bytes) {
      invalid_file(source_, "it has " + std::to_string(bytes_.size()) + " bytes; at most " + std::to_string(limits_.max_bytes) + " are allowed");
    }
    if (bytes_.size() < 2 || byte() != 0x80) invalid_file(source_, "it is no pickle of protocol 2");
    if (const unsigned protocol = byte(); protocol != 2) {
      invalid_file(source_, "it is a pickle of protocol " + std::to_string(protocol) + "; only 2, which torch.save writes by default, can be read");
    }
    while (step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("it ends with values left over");
    if (at_ != bytes_.size()) fail("there are bytes behind its end");
    pickle_.root = stack_[0];
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { invalid_file(source_, what + " (byte " + std::to_string(opcode_at_) + ")"); }

  std::span<const std::byte> take(size_t count) {
    if (count > bytes_.size() - at_) fail("it is cut short or lies about a length");
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  unsigned byte() { return std::to_integer<unsigned>(take(1)[0]); }
  uint64_t little(size_t count) {
    uint64_t value = 0;
    const auto taken = take(count);
    for (size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(taken[i]);
    return value;
  }
  // A whole number in two's complement of up to 8 bytes.
  int64_t long_integer(size_t count) {
    if (count > 8) fail("it holds a whole number of more than 64 bits");
    if (count == 0) return 0;
    const unsigned unused = 64 - 8 * static_cast<unsigned>(count);
    return static_cast<int64_t>(little(count) << unused) >> unused;
  }
  double big_endian_float() {
    uint64_t bits = 0;
    for (const std::byte b : take(8)) bits = bits << 8 | std::to_integer<uint64_t>(b);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::string text(size_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::string line() {
    const size_t begin = at_;
    while (byte() != '\n') {
    }
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin - 1};
  }

  void push(uint32_t place) {
    if (stack_.size() >= limits_.max_values) fail("it piles up more than " + std::to_string(limits_.max_values) + " values");
    stack_.push_back(place);
  }
  void make(PickleValue value) {
    if (pickle_.values.size() >= limits_.max_values) fail("it holds more than " + std::to_string(limits_.max_values) + " values");
    pickle_.values.push_back(std::move(value));
    push(static_cast<uint32_t>(pickle_.values.size() - 1));
  }
  void make_integer(Kind kind, int64_t integer) {
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    make(std::move(value));
  }
  void make_text(Kind kind, std::string text) {
    PickleValue value;
    value.kind = kind;
    value.text = std::move(text);
    make(std::move(value));
  }
  void make_list(Kind kind, std::vector<uint32_t> items) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    make(std::move(value));
  }

  // What lies on the stack above the last mark, or above its ground, may be taken.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  uint32_t pop() {
    if (stack_.size() <= floor()) fail("it takes a value that is not there");
    const uint32_t place = stack_.back();
    stack_.pop_back();
    return place;
  }
  uint32_t top() const {
    if (stack_.size() <= floor()) fail("it uses a value that is not there");
    return stack_.back();
  }
  PickleValue& top_value(Kind kind, const char* doing) {
    PickleValue& value = pickle_.values[top()];
    if (value.kind != kind) fail(std::string("it ") + doing + " something else");
    return value;
  }
  std::vector<uint32_t> pop_many(size_t count) {
    if (stack_.size() - floor() < count) fail("it takes values that are not there");
    std::vector<uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) fail("it goes back to a mark that is not there");
    std::vector<uint32_t> items = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  void remember(uint64_t index) {
    const uint32_t place = top();
    if (index >= limits_.max_values) fail("it remembers a value under the number " + std::to_string(index) + "; at most " + std::to_string(limits_.max_values) + " are allowed");
    if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
    memo_[index] = place;
  }
  void recall(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNothing) fail("it recalls the value number " + std::to_string(index) + " that was never remembered");
    push(memo_[index]);
  }

  void global() {
    const std::string module = line();
    const std::string name = module + "." + line();
    if (name != kOrderedDict && !allowed_(name)) {
      invalid_file(source_, "it asks for " + shown(name) + ", which is refused; a checkpoint may hold tensors and plain containers, and nothing of it is ever run");
    }
    make_text(Kind::kGlobal, name);
  }
  void call() {
    const uint32_t arguments = pop();
    const uint32_t function = pop();
    const PickleValue& callee = pickle_.at(function);
    if (callee.kind != Kind::kGlobal || pickle_.at(arguments).kind != Kind::kTuple) fail("it calls something that is no function");
    if (callee.text != kOrderedDict) return make_list(Kind::kCall, {function, arguments});
    if (!pickle_.at(arguments).items.empty()) fail("it makes an OrderedDict of arguments");
    make_list(Kind::kDict, {});
  }
  void set_items(const std::vector<uint32_t>& items) {
    if (items.size() % 2 != 0) fail("it gives a dict a key without a value");
    for (size_t i = 0; i < items.size(); i += 2) {
      const Kind key = pickle_.at(items[i]).kind;
      const bool plain = key == Kind::kNone || key == Kind::kBool || key == Kind::kInt || key == Kind::kFloat || key == Kind::kString;
      if (!plain) fail("it gives a dict a key that is no plain value");
    }
    PickleValue& dict = top_value(Kind::kDict, "sets the items of");
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }
  void append(const std::vector<uint32_t>& items) {
    PickleValue& list = top_value(Kind::kList, "appends to");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  // Attributes of an OrderedDict, such as the _metadata of a state dict, say nothing about tensors.
  void drop_attributes() {
    const Kind kind = pickle_.at(pop()).kind;
    if (kind != Kind::kDict && kind != Kind::kNone) fail("it gives an object a state that is no dict");
    top_value(Kind::kDict, "gives a state to");
  }

  // Carries out the next opcode; false at the end.
  bool step() {
    opcode_at_ = at_;
    const unsigned opcode = byte();
    switch (opcode) {
      case '.': return false;
      case '(': push_mark(); break;
      case 'N': make({}); break;
      case 0x88: make_integer(Kind::kBool, 1); break;
      case 0x89: make_integer(Kind::kBool, 0); break;
      case 'J': make_integer(Kind::kInt, long_integer(4)); break;
      case 'K': make_integer(Kind::kInt, static_cast<int64_t>(little(1))); break;
      case 'M': make_integer(Kind::kInt, static_cast<int64_t>(little(2))); break;
      case 0x8a: make_integer(Kind::kInt, long_integer(byte())); break;
      case 'G': make_float(); break;
      case 'X': make_text(Kind::kString, text(little(4))); break;
      case ')': make_list(Kind::kTuple, {}); break;
      case 0x85: make_list(Kind::kTuple, pop_many(1)); break;
      case 0x86: make_list(Kind::kTuple, pop_many(2)); break;
      case 0x87: make_list(Kind::kTuple, pop_many(3)); break;
      case 't': make_list(Kind::kTuple, pop_to_mark()); break;
      case ']': make_list(Kind::kList, {}); break;
      case 'a': append({pop()}); break;
      case 'e': append(pop_to_mark()); break;
      case '}': make_list(Kind::kDict, {}); break;
      case 's': set_items(pop_many(2)); break;
      case 'u': set_items(pop_to_mark()); break;
      case 'q': remember(little(1)); break;
      case 'r': remember(little(4)); break;
      case 'h': recall(little(1)); break;
      case 'j': recall(little(4)); break;
      case 'c': global(); break;
      case 'R': call(); break;
      case 'Q': make_list(Kind::kPersistent, {pop()}); break;
      case 'b': drop_attributes(); break;
      default: fail("it uses the opcode " + std::to_string(opcode) + ", which tensors and plain containers do not need");
    }
    return true;
  }
  void push_mark() {
    if (marks_.size() >= limits_.max_values) fail("it piles up more than " + std::to_string(limits_.max_values) + " marks");
    marks_.push_back(stack_.size());
  }
  void make_float() {
    PickleValue value;
    value.kind = Kind::kFloat;
    value.number = big_endian_float();
    make(std::move(value));
  }

  const std::span<const std::byte> bytes_;
  const std::string& source_;
  bool (*const allowed_)(std::string_view);
  const PickleLimits limits_;
  size_t at_ = 0, opcode_at_ = 0;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::vector<uint32_t> memo_;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source, bool (*allowed)(std::string_view name), const PickleLimits& limits) {
  return PickleMachine(bytes, source, allowed, limits).run();
}

}  // namespace sonant
