// The test harness of the native code: nothing more than registered functions and checks that
// count. Usage:
//
//   TEST(resampler_keeps_length) { CHECK(out.size() == 10); }
//
// Run with words as arguments to run only the tests whose name contains one of them. A failed
// CHECK prints and goes on; REQUIRE ends its test; an exception ends its test as a failure.
#pragma once

#include <cmath>
#include <functional>
#include <sstream>
#include <string>

#include "model/error.h"

namespace sonant::test {

struct Registration {
  Registration(const char* name, const char* file, std::function<void()> body);
};

struct Abandon {};  // thrown by REQUIRE

void record(bool passed, const char* file, int line, const std::string& what);

// A folder of the fixtures that lie beside the tests, and a fresh folder that is removed at exit.
std::string fixture(const std::string& name);
std::string temporary_folder();
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

template <typename A, typename B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return record(true, file, line, "");
  std::ostringstream out;
  out << text << ": " << a << " is not " << b;
  record(false, file, line, out.str());
}

inline void check_near(double a, double b, double tolerance, const char* text, const char* file, int line) {
  if (std::fabs(a - b) <= tolerance) return record(true, file, line, "");
  std::ostringstream out;
  out.precision(9);
  out << text << ": " << a << " is not within " << tolerance << " of " << b;
  record(false, file, line, out.str());
}

// Runs `body`, which must throw Error with this code and `part` in its sentence.
void check_throws(const std::function<void()>& body, const std::string& code, const std::string& part, const char* text, const char* file, int line);

}  // namespace sonant::test

#define SONANT_JOIN_(a, b) a##b
#define SONANT_JOIN(a, b) SONANT_JOIN_(a, b)
#define TEST(name)                                                                                     \
  static void test_##name();                                                                           \
  static const ::sonant::test::Registration SONANT_JOIN(registration_, __LINE__)(#name, __FILE__, test_##name); \
  static void test_##name()
#define CHECK(condition) ::sonant::test::record(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
#define CHECK_EQUAL(a, b) ::sonant::test::check_equal((a), (b), #a, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) ::sonant::test::check_near((a), (b), (tolerance), #a, __FILE__, __LINE__)
#define CHECK_THROWS_CODE(expression, code) \
  ::sonant::test::check_throws([&] { (void)(expression); }, code, "", #expression, __FILE__, __LINE__)
// Also asks that the sentence contains `part`.
#define CHECK_THROWS_SAYING(expression, code, part) \
  ::sonant::test::check_throws([&] { (void)(expression); }, code, part, #expression, __FILE__, __LINE__)
#define REQUIRE(condition)                                       \
  do {                                                           \
    const bool sonant_passed = static_cast<bool>(condition);     \
    ::sonant::test::record(sonant_passed, __FILE__, __LINE__, #condition); \
    if (!sonant_passed) throw ::sonant::test::Abandon{};         \
  } while (false)
