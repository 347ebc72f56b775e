#include "python/native/common.hpp"

#include <limits>

#include "paraes/kdf.hpp"
#include "paraes/threads.hpp"
#include "src/core/system/memory.hpp"

namespace paraes::python {
namespace {

std::atomic<bool> gpu_was_used = false;
std::atomic<bool> gpu_is_lost = false;  // it was used before the fork

[[noreturn]] void refuse_gpu() {
  throw Unavailable(
      "this process was forked from one that has used a GPU, and drivers do not survive that: "
      "start processes with multiprocessing.set_start_method('spawn')");
}

}  // namespace

void after_fork_in_child() noexcept {
  if (gpu_was_used) gpu_is_lost = true;
  limit_threads(1);
}

void Buffer::refuse(nb::handle object, const char* name, Access access) {
  const bool has_buffer = PyObject_CheckBuffer(object.ptr()) != 0;
  if (has_buffer && !PyErr_ExceptionMatches(PyExc_BufferError) &&
      !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    nb::raise_python_error();
  }
  PyErr_Clear();
  const std::string type = nb::inst_name(object).c_str();
  if (!has_buffer) {
    nb::raise_type_error("%s: a bytes-like object is required, not '%s'%s", name, type.c_str(),
                         PyUnicode_Check(object.ptr()) ? ": encode the text" : "");
  }
  Py_buffer view = {};
  const bool contiguous =
      PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) == 0 && (PyBuffer_Release(&view), true);
  PyErr_Clear();
  if (contiguous && access == write) {
    nb::raise_type_error("%s: '%s' is not writable: use a bytearray, for example", name,
                         type.c_str());
  }
  PyErr_Format(PyExc_BufferError, "%s: the memory of '%s' is not contiguous: copy it first", name,
               type.c_str());
  nb::raise_python_error();
}

void refuse_size(std::size_t bytes, std::size_t right) {
  throw InvalidArgument("buf: it must have " + std::to_string(right) + " bytes, not " +
                        std::to_string(bytes));
}

void refuse_overlap(bool in_place) {
  throw InvalidArgument(in_place ? "buf: it overlaps data, and does not begin at the same byte"
                                 : "buf: it must not overlap data");
}

void NewBytes::request_huge_pages() const noexcept {
  // The whole huge pages within the object.
  const auto address = reinterpret_cast<std::uintptr_t>(data_);
  const std::size_t before = (system::huge_page - address % system::huge_page) % system::huge_page;
  const std::size_t bytes = (size_ - before) / system::huge_page * system::huge_page;
  system::request_huge_pages(data_ + before, bytes);
}

nb::bytes random_key(std::size_t bytes) {
  NewBytes key(bytes);
  random_bytes(key.span());
  return key.take();
}

DeviceUse::DeviceUse(const Execution& where)
    : is_gpu_(where.device != "cpu" && where.device != "auto" && !where.device.empty()) {
  if (!is_gpu_) return;
  if (gpu_is_lost) refuse_gpu();
  gpu_was_used = true;
}

void DeviceUse::check_gpu() const {
  if (!owner_.is_this()) refuse_gpu();
}

std::int64_t whole_number(nb::handle value, const std::string& name) {
  if (PyIndex_Check(value.ptr()) == 0) {
    nb::raise_type_error("%s: it is an int, not '%s'", name.c_str(), nb::inst_name(value).c_str());
  }
  const nb::object number = new_object(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow < 0   ? std::numeric_limits<std::int64_t>::min()
         : overflow > 0 ? std::numeric_limits<std::int64_t>::max()
                        : found;
}

std::int64_t whole_number(nb::handle value, const std::string& name, std::int64_t least,
                          std::int64_t most) {
  const std::int64_t found = whole_number(value, name);
  if (found >= least && found <= most) return found;
  throw InvalidArgument(name + ": it is a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most));
}

std::vector<std::uint8_t> context_of(nb::handle object, std::size_t most) {
  const Buffer context(object, "context");
  if (context.size() <= most) return {context.bytes().begin(), context.bytes().end()};
  throw InvalidArgument("context: it has at most " + std::to_string(most) + " bytes, not " +
                        std::to_string(context.size()));
}

Execution execution_of(nb::handle threads, std::string device, std::string kernel) {
  return {.kernel = std::move(kernel), .threads = threads_of(threads), .device = std::move(device)};
}

}  // namespace paraes::python
