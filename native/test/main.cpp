// Runs the registered tests and prints "N passed, N failed". Exits with 1 when one failed or
// when a filter matched none.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

#include "test/check.h"

namespace sonant::test {
namespace {

struct Case {
  const char* name;
  const char* file;
  std::function<void()> body;
};

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

std::atomic<int> failures_of_case{0};  // checks may run on threads a test started
std::atomic<int> folders_made{0};

std::filesystem::path scratch_root() {
  return std::filesystem::temp_directory_path() / ("sonant-tests-" + std::to_string(::getpid()));
}

bool selected(const Case& test, int argc, char** argv) {
  return argc < 2 || std::any_of(argv + 1, argv + argc, [&](const char* word) { return std::strstr(test.name, word) != nullptr; });
}

bool run(const Case& test) {
  failures_of_case = 0;
  try {
    test.body();
  } catch (const Abandon&) {
  } catch (const Error& error) {
    record(false, test.file, 0, std::string("threw ") + error.code() + ": " + error.what());
  } catch (const std::exception& error) {
    record(false, test.file, 0, std::string("threw ") + error.what());
  }
  return failures_of_case == 0;
}

}  // namespace

Registration::Registration(const char* name, const char* file, std::function<void()> body) {
  cases().push_back({name, file, std::move(body)});
}

void record(bool passed, const char* file, int line, const std::string& what) {
  if (passed) return;
  // One broken loop must not flood the terminal.
  if (++failures_of_case <= 20) std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

void check_throws(const std::function<void()>& body, const std::string& code, const std::string& part, const char* text, const char* file, int line) {
  try {
    body();
  } catch (const Error& error) {
    const bool right = error.code() == code && std::string(error.what()).find(part) != std::string::npos;
    return record(right, file, line, std::string(text) + " threw " + error.code() + ": " + error.what() + " (expected " + code + ": " + part + ")");
  }
  record(false, file, line, std::string(text) + " did not throw " + code);
}

std::string fixture(const std::string& name) { return std::string(SONANT_FIXTURES) + "/" + name; }

std::string temporary_folder() {
  const std::filesystem::path folder = scratch_root() / std::to_string(folders_made++);
  std::filesystem::create_directories(folder);
  return folder.string();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace sonant::test

int main(int argc, char** argv) {
  using namespace sonant::test;
  int passed = 0, failed = 0;
  for (const Case& test : cases()) {
    if (!selected(test, argc, argv)) continue;
    const auto start = std::chrono::steady_clock::now();
    const bool ok = run(test);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::printf("%s %s (%.0f ms)\n", ok ? "ok  " : "FAIL", test.name, ms);
    std::fflush(stdout);
    ++(ok ? passed : failed);
  }
  std::error_code ignored;
  std::filesystem::remove_all(scratch_root(), ignored);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
