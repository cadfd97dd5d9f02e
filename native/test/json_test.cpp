// The JSON reader: what it accepts, what it refuses, and that no mutation of a document crashes it.
#include "model/json.h"

#include "test/check.h"
#include "test/mutate.h"

using namespace sonant;

namespace {

Json parse(const std::string& text) { return Json::parse(text, "text"); }

}  // namespace

TEST(json_reads_values) {
  const Json json = parse(R"( {"b":[1,-2.5e1,true,null,"x\n\u00e9\ud83d\ude00"],"a":{"c":0}} )");
  const auto& list = json.find("b")->as_array();
  CHECK_EQUAL(list.size(), 5u);
  CHECK_EQUAL(list[0].as_integer(), 1);
  CHECK_EQUAL(list[1].as_number(), -25.0);
  CHECK(list[2].as_bool());
  CHECK(list[3].is(Json::Kind::kNull));
  CHECK_EQUAL(list[4].as_string(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  CHECK_EQUAL(json.find("a")->find("c")->as_integer(), 0);
  CHECK(json.find("nothing") == nullptr);
  CHECK(list[0].find("nothing") == nullptr);
  CHECK_EQUAL(json.as_object()[0].key, "a");
}

TEST(json_reads_numbers_exactly) {
  CHECK_EQUAL(parse("0.1").as_number(), 0.1);
  CHECK_EQUAL(parse("123456789012345").as_integer(), 123456789012345);
  CHECK_EQUAL(parse("9007199254740991").as_integer(), 9007199254740991);
  CHECK_EQUAL(parse("-7").as_integer(), -7);
  CHECK_EQUAL(parse("1e-5").as_number(), 1e-5);
  CHECK_EQUAL(parse("-1.6037988662719727").as_number(), -1.6037988662719727);
  CHECK(!parse("1e20").is_integer());
  CHECK(!parse("1.5").is_integer());
  CHECK_THROWS_CODE(parse("1.5").as_integer(), "model_invalid");
  CHECK_THROWS_CODE(parse("1").as_string(), "model_invalid");
}

TEST(json_refuses_malformed_text) {
  for (const char* text : {"", " ", "{", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1", "1e", "--1", "nul", "tru", "\"",
                           "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\t\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                           "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "1e999", "[1]x", "NaN", "Infinity", "{\"a\":1,\"a\":2}", "'a'", "// c\n1"}) {
    CHECK_THROWS_SAYING(parse(text), "model_invalid", "line 1");
  }
  CHECK_THROWS_SAYING(parse("{\n \"a\": x}"), "model_invalid", "line 2, column 7");
  CHECK_THROWS_SAYING(parse(std::string("[1\0]", 4)), "model_invalid", "column 3");
}

TEST(json_limits_depth_size_and_values) {
  CHECK_EQUAL(parse(std::string(64, '[') + std::string(64, ']')).as_array().size(), 1u);
  CHECK_THROWS_SAYING(parse(std::string(65, '[') + std::string(65, ']')), "model_invalid", "nested");
  CHECK_THROWS_SAYING(parse(std::string(5'000'000, '[')), "model_invalid", "nested");
  JsonLimits small;
  small.max_values = 4;
  small.max_bytes = 20;
  CHECK_EQUAL(Json::parse("[1,2,3]", "text", small).as_array().size(), 3u);
  CHECK_THROWS_SAYING(Json::parse("[1,2,3,4]", "text", small), "model_invalid", "values");
  CHECK_THROWS_SAYING(Json::parse(std::string(21, ' '), "text", small), "model_invalid", "bytes");
}

TEST(json_missing_file) { CHECK_THROWS_CODE(Json::parse_file("/nowhere/config.json"), "model_missing"); }

TEST(json_survives_mutation) {
  const std::string valid = R"({"a":[1,2.5e3,{"b":"t\u00e9x\\t","c":null}],"d":{"e":true,"f":[[],{}]}})";
  test::Mutator mutator(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = mutator.mutate(valid);
    try {
      parse(text);
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
      ++refused;
    }
  }
  CHECK(refused > 10000);
}
