// The program that is traced: runs one operation of one kernel, once for each
// record on standard input, which has 64 bytes of key and then the text.
//
//   paraes_steps kernels            lists kernels: name, constant|leaky|library, why not
//   paraes_steps operations KERNEL  lists the operations of a kernel
//   paraes_steps run KERNEL|probes OPERATION KEY-BYTES TEXT-BYTES
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tests/ct/operations.hpp"
#include "tests/ct/steps/mark.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::ct {
namespace {

[[noreturn]] void fail(const char* what) {
  std::cerr << "paraes_steps: " << what << '\n';
  std::exit(2);
}

unsigned number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("not a number");
  return value;
}

const char* timing_name(Timing timing) {
  if (timing == Timing::constant) return "constant";
  return timing == Timing::leaky ? "leaky" : "library";
}

int list_kernels() {
  for (const Kernel* kernel : support::compiled_kernels()) {
    std::cout << support::kernel_name(*kernel) << '\t' << timing_name(kernel->timing) << '\t'
              << support::why_unavailable(*kernel) << '\n';
  }
  return 0;
}

// Operations, and the kernel that runs them.
struct Subject {
  const Kernel& kernel;
  std::span<const Operation> operations;
};

Subject subject_named(std::string_view name) {
  const auto all = support::compiled_kernels();
  if (name == "probes") return {*all.front(), probes()};
  for (const Kernel* kernel : all) {
    if (support::kernel_name(*kernel) != name) continue;
    if (!support::why_unavailable(*kernel).empty()) fail("this kernel cannot run here");
    return {*kernel, operations()};
  }
  fail("there is no such kernel");
}

int list_operations(const Subject& subject) {
  for (const Operation& operation : subject.operations) {
    if (operation.exists(subject.kernel)) std::cout << operation.name << '\n';
  }
  return 0;
}

const Operation& operation_named(const Subject& subject, std::string_view name) {
  for (const Operation& operation : subject.operations) {
    if (operation.name == name && operation.exists(subject.kernel)) return operation;
  }
  fail("this kernel has no such operation");
}

// Reads exactly `bytes` bytes. Returns false at the end of the input.
bool read_all(std::uint8_t* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = read(STDIN_FILENO, to + done, bytes - done);
    if (n < 0) fail("cannot read");
    if (n == 0 && done == 0) return false;
    if (n == 0) fail("the last record is not whole");
    done += static_cast<std::size_t>(n);
  }
  return true;
}

int run(const Subject& subject, std::string_view name, unsigned key_bytes, unsigned text_bytes) {
  const Operation& operation = operation_named(subject, name);
  if (text_bytes > max_text_bytes) fail("the text is too long");
  static Secrets secrets;
  const Work work = {subject.kernel, key_bytes, text_bytes, secrets};
  while (read_all(secrets.key, sizeof secrets.key)) {
    if (text_bytes != 0 && !read_all(secrets.text, text_bytes)) fail("no text");
    secrets.forged_byte = secrets.key[1];
    secrets.forged_bits = static_cast<std::uint8_t>(secrets.key[0] < 128 ? secrets.key[2] | 1 : 0);
    operation.use_key(work);
    operation.prepare(work);
    mark();
    operation.run(work);
    mark();
  }
  return 0;
}

}  // namespace
}  // namespace paraes::ct

int main(int count, char** arguments) {
  using namespace paraes::ct;
  const std::string_view verb = count > 1 ? arguments[1] : "";
  if (verb == "kernels" && count == 2) return list_kernels();
  if (verb == "operations" && count == 3) return list_operations(subject_named(arguments[2]));
  if (verb == "run" && count == 6) {
    return run(subject_named(arguments[2]), arguments[3], number(arguments[4]),
               number(arguments[5]));
  }
  fail("unknown arguments: see tests/ct/steps/workload.cpp");
}
