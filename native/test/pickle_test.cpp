// Pickles: what is read, what is refused by name, and every bound.
#include "model/pickle.h"

#include "test/check.h"
#include "test/mutate.h"
#include "test/torch_writer.h"

using namespace sonant;
using namespace sonant::test;
using Kind = PickleValue::Kind;

namespace {

bool allowed(std::string_view name) { return name == "torch.call"; }

Pickle read(const std::string& bytes, const PickleLimits& limits = {}) {
  const std::vector<char> block(bytes.begin(), bytes.end());
  return read_pickle(std::as_bytes(std::span(block)), "x.pkl", allowed, limits);
}

const std::string kPlain = p_whole(p_dict({{"none", "N"},
                                           {"yes", "\x88"},
                                           {"no", "\x89"},
                                           {"byte", "K\xff"},
                                           {"short", "M\xff\xff"},
                                           {"int", "J\xfe\xff\xff\xff"},
                                           {"long", p_int(1ll << 40)},
                                           {"negative", "\x8a\x01\x80"},
                                           {"zero", std::string("\x8a\0", 2)},
                                           {"float", std::string("G\x3f\xf8\0\0\0\0\0\0", 9)},
                                           {"list", "](K\1K\2eK\3a"},
                                           {"tuples", "K\1\x85K\1K\2\x86)\x87"},
                                           {"called", p_global("torch", "call") + p_tuple({"N"}) + "R"},
                                           {"outside", "NQ"},
                                           {"ordered", p_ordered_dict() + "}b"}}));

const PickleValue& member(const Pickle& pickle, const std::string& name) {
  const PickleValue& dict = pickle.at(pickle.root);
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    if (pickle.at(dict.items[i]).text == name) return pickle.at(dict.items[i + 1]);
  }
  throw Error("model_invalid", "no member " + name);
}

}  // namespace

TEST(pickle_reads_values_and_containers) {
  const Pickle pickle = read(kPlain);
  CHECK(member(pickle, "none").kind == Kind::kNone);
  CHECK(member(pickle, "yes").kind == Kind::kBool);
  CHECK_EQUAL(member(pickle, "yes").integer, 1);
  CHECK_EQUAL(member(pickle, "no").integer, 0);
  CHECK_EQUAL(member(pickle, "byte").integer, 255);
  CHECK_EQUAL(member(pickle, "short").integer, 65535);
  CHECK_EQUAL(member(pickle, "int").integer, -2);
  CHECK_EQUAL(member(pickle, "long").integer, 1ll << 40);
  CHECK_EQUAL(member(pickle, "negative").integer, -128);
  CHECK_EQUAL(member(pickle, "zero").integer, 0);
  CHECK_EQUAL(member(pickle, "float").number, 1.5);
  CHECK_EQUAL(member(pickle, "list").items.size(), 3u);
  CHECK_EQUAL(pickle.at(member(pickle, "list").items[2]).integer, 3);
  const PickleValue& tuples = member(pickle, "tuples");
  REQUIRE(tuples.kind == Kind::kTuple && tuples.items.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK_EQUAL(pickle.at(tuples.items[i]).items.size(), (i + 1) % 3);
  CHECK(member(pickle, "called").kind == Kind::kCall);
  CHECK_EQUAL(pickle.at(member(pickle, "called").items[0]).text, "torch.call");
  CHECK(member(pickle, "outside").kind == Kind::kPersistent);
  CHECK(member(pickle, "ordered").kind == Kind::kDict);
  // A list that holds itself, twice by its number in the memo.
  const Pickle cycle = read(p_whole("]q\5h\5aj" + little(5, 4) + "a"));
  CHECK_EQUAL(cycle.at(cycle.root).items[1], cycle.root);
}

TEST(pickle_refuses_names) {
  const auto named = [](const std::string& module, const std::string& name) { CHECK_THROWS_SAYING(read(p_whole(p_global(module, name))), "model_invalid", "\"" + module + "." + name + "\", which is refused"); };
  named("os", "system");
  named("posix", "system");
  named("builtins", "eval");
  named("__builtin__", "exec");
  named("subprocess", "Popen");
  named("torch", "load");
  named("torch", "call.__globals__");
  named("torch.hub", "load");
  named("collections", "OrderedDict.fromkeys");
  CHECK_THROWS_SAYING(read(p_whole(p_global("os\x1b[2J", "system"))), "model_invalid", "\"os?[2J.system\"");
}

TEST(pickle_refuses_what_it_cannot_read) {
  const auto refuse = [](const std::string& piece, const char* part) { CHECK_THROWS_SAYING(read(p_whole(piece)), "model_invalid", part); };
  CHECK_THROWS_SAYING(read(""), "model_invalid", "no pickle");
  CHECK_THROWS_SAYING(read("(lp0\n."), "model_invalid", "no pickle");
  CHECK_THROWS_SAYING(read("\x80\x04N."), "model_invalid", "protocol 4");
  CHECK_THROWS_SAYING(read("\x80\x02N"), "model_invalid", "cut short");
  CHECK_THROWS_SAYING(read("\x80\x02N.N"), "model_invalid", "behind its end");
  // Opcodes that make objects, look up extensions or duplicate.
  for (const char opcode : {'i', 'o', '\x81', '\x92', '\x93', '\x82', '2', '0', '1', 'P', 'I', 'S', 'V', 'U'}) refuse(std::string("N") + opcode, "the opcode");
  refuse("", "left over");
  refuse("NN", "left over");
  refuse("N(", "left over");
  refuse("Nt", "mark that is not there");
  refuse("K\1\x86", "not there");
  refuse("N(\x85", "not there");
  refuse("]N(ae", "not there");
  refuse("q\1", "not there");
  refuse("h\1", "number 1 that was never remembered");
  refuse("Nq\3h\2", "number 2 that was never remembered");
  refuse("Nr" + little(500'000, 4), "remembers a value under the number 500000");
  refuse("j" + little(0xffffffff, 4), "never remembered");
  refuse("X" + little(0xffffffff, 4) + "abc", "lies about a length");
  refuse("\x8a\x09" + std::string(9, '\1'), "more than 64 bits");
  refuse("ctorch", "cut short");
  refuse("}NNNs", "something else");
  refuse("}(Nu", "key without a value");
  refuse("})Ns", "no plain value");
  refuse("NNa", "appends to something else");
  refuse("N)R", "no function");
  refuse(p_global("torch", "call") + "]R", "no function");
  refuse(p_global("collections", "OrderedDict") + "]\x85R", "OrderedDict of arguments");
  refuse("N}b", "something else");
  refuse("}K\1b", "no dict");
}

TEST(pickle_is_bounded) {
  PickleLimits limits;
  limits.max_values = 1000;
  CHECK_EQUAL(read(p_whole("(" + std::string(999, ')') + "t"), limits).values.size(), 1000u);
  CHECK_THROWS_SAYING(read(p_whole(std::string(1001, ')')), limits), "model_invalid", "more than 1000 values");
  std::string recalled = "Nq\1";
  for (int i = 0; i < 1000; ++i) recalled += "h\1";
  CHECK_THROWS_SAYING(read(p_whole(recalled), limits), "model_invalid", "piles up more than 1000 values");
  CHECK_THROWS_SAYING(read(p_whole(std::string(1001, '(')), limits), "model_invalid", "more than 1000 marks");
  limits.max_bytes = 10;
  CHECK_THROWS_SAYING(read(p_whole(std::string(8, ')')), limits), "model_invalid", "at most 10");
  // A tower of tuples is deep but no trouble: nothing recurses, not even taking it down.
  CHECK_EQUAL(read(p_whole("N" + std::string(400'000, '\x85'))).values.size(), 400'001u);
}

TEST(pickle_survives_mutation) {
  test::Mutator mutator(29);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    try {
      const Pickle pickle = read(mutator.mutate(kPlain));
      CHECK(pickle.root < pickle.values.size());
      for (const PickleValue& value : pickle.values) {
        for (const uint32_t item : value.items) CHECK(item < pickle.values.size());
      }
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
      ++refused;
    }
  }
  CHECK(refused > 5000);
}
