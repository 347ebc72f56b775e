// Shared by all files of the module: buffers of Python objects, and where the work is done.
//
// Functions that touch Python objects need the GIL. Those that compute release it (WithoutGil),
// because computing needs no Python object: a Buffer keeps its memory in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/forks.hpp"
#include "paraes/io.hpp"

namespace paraes::python {

namespace nb = nanobind;

struct BufferName {};

}  // namespace paraes::python

namespace nanobind::detail {
template <>
struct type_caster<paraes::python::BufferName> {
  static constexpr auto Name = const_name("Buffer");
};
}  // namespace nanobind::detail

namespace paraes::python {

// Arguments that signatures show as of these types. nanobind passes any object: the functions check
// it themselves, and name the argument where it is wrong.
using AnyBuffer = nb::typed<nb::handle, BufferName>;
using AnyInt = nb::typed<nb::handle, int>;
// Keyword arguments that a function of paraes.files has passed on.
using Options = nb::typed<nb::dict, nb::str, nb::object>;

// Up to this many bytes, releasing the GIL takes longer than the work.
inline constexpr std::size_t most_bytes_with_gil = 2048;

// The new object that a function of Python returned. Raises what it has set if there is none.
[[nodiscard]] inline nb::object new_object(PyObject* object) {
  if (object == nullptr) nb::raise_python_error();
  return nb::steal(object);
}

// The memory of an object with the buffer protocol (PEP 3118), which stays where it is as long as
// this object exists. The memory is contiguous, else BufferError; an object that has none is
// TypeError. `name` is that of the argument, for the message.
class Buffer {
 public:
  enum Access { read, write };

  Buffer(nb::handle object, const char* name, Access access = read) {
    if (PyObject_GetBuffer(object.ptr(), &view_, access == write ? PyBUF_WRITABLE : PyBUF_SIMPLE) !=
        0) {
      refuse(object, name, access);
    }
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }
  [[nodiscard]] Bytes bytes() const noexcept {
    return {static_cast<const std::uint8_t*>(view_.buf), size()};
  }
  [[nodiscard]] MutableBytes writable() const noexcept {
    return {static_cast<std::uint8_t*>(view_.buf), size()};
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(nb::handle object, const char* name,
                                                            Access access);

  Py_buffer view_ = {};
};

// A new bytes object, whose contents the caller writes before anybody else sees it.
class NewBytes {
 public:
  explicit NewBytes(std::size_t size)
      : object_(nb::steal<nb::bytes>(
            PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))) {
    if (!object_.is_valid()) nb::raise_python_error();
    data_ = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(object_.ptr()));
    size_ = size;
    if (size >= huge_bytes) request_huge_pages();
  }

  [[nodiscard]] MutableBytes span() const noexcept { return {data_, size_}; }
  [[nodiscard]] nb::bytes take() noexcept { return std::move(object_); }

 private:
  // Memory of this size is new, and its pages come one by one when they are written. That can take
  // longer than to encrypt them, unless the pages are huge.
  static constexpr std::size_t huge_bytes = std::size_t{8} << 20;
  void request_huge_pages() const noexcept;

  nb::bytes object_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

[[nodiscard]] nb::bytes random_key(std::size_t bytes);

// Releases the GIL while it exists, if `bytes` bytes are worth it.
class WithoutGil {
 public:
  explicit WithoutGil(std::size_t bytes) {
    if (bytes > most_bytes_with_gil) released_.emplace();
  }

 private:
  std::optional<nb::gil_scoped_release> released_;
};

// Lets the calls of an object take turns. Needs the GIL, and waits without it, because the other
// call may need it.
class Turns {
 public:
  struct End {
    void operator()(Turns* turns) const noexcept {
      turns->thread_ = std::thread::id();
      turns->mutex_.unlock();
    }
  };
  // The turn of one call, until it is destroyed.
  using Turn = std::unique_ptr<Turns, End>;

  // Raises RuntimeError if this thread has a turn already: a signal handler, a finalizer or a file
  // object calls the object that has called it. Throws WrongProcess in a child that was forked
  // during a call of another thread: what that was changing is in no state to go on from.
  [[nodiscard]] Turn take() {
    if (was_interrupted()) {
      throw WrongProcess("another thread was using this object when the process was forked");
    }
    if (thread_.load() == std::this_thread::get_id()) {
      nb::raise("reentrant call: another call of this object is not over");
    }
    if (!mutex_.try_lock()) {
      const nb::gil_scoped_release released;
      mutex_.lock();
    }
    thread_ = std::this_thread::get_id();
    return Turn(this);
  }

  // Makes a call in turn, without the GIL.
  template <class F>
  auto operator()(const F& call) {
    const Turn turn = take();
    const nb::gil_scoped_release released;
    return call();
  }

  // Whether a call of a thread that does not exist here was going on when this process was forked.
  // The object that it was changing can neither be used nor destroyed.
  [[nodiscard]] bool was_interrupted() noexcept {
    if (!process_.is_this()) {
      const std::thread::id thread = thread_.load();
      interrupted_ =
          interrupted_ || (thread != std::thread::id() && thread != std::this_thread::get_id());
      process_ = OwnerProcess();
    }
    return interrupted_;
  }

  // For destructors: destroys what `member` holds, unless a call was interrupted.
  template <class T>
  void destroy(std::unique_ptr<T>& member) noexcept {
    if (was_interrupted()) {
      static_cast<void>(member.release());
      return;
    }
    const nb::gil_scoped_release released;
    member.reset();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> thread_;  // whose turn it is
  OwnerProcess process_;
  bool interrupted_ = false;
};

// Throws InvalidArgument if the argument `buf` has fewer than `bytes` bytes.
inline void check_room(const Buffer& buf, std::size_t bytes) {
  if (buf.size() >= bytes) return;
  throw InvalidArgument("buf: it must have at least " + std::to_string(bytes) + " bytes, not " +
                        std::to_string(buf.size()));
}

[[nodiscard]] inline bool overlap(Bytes a, Bytes b) noexcept {
  const std::less<const std::uint8_t*> is_before;
  return !a.empty() && !b.empty() && is_before(a.data(), b.data() + b.size()) &&
         is_before(b.data(), a.data() + a.size());
}

[[noreturn, gnu::cold]] void refuse_size(std::size_t bytes, std::size_t right);
[[noreturn, gnu::cold]] void refuse_overlap(bool in_place);

// Throws InvalidArgument unless the argument `buf` has `bytes` bytes.
inline void check_size(const Buffer& buf, std::size_t bytes) {
  if (buf.size() != bytes) refuse_size(buf.size(), bytes);
}

// Throws InvalidArgument if the argument `buf` has bytes of `data`, unless both begin at the same
// byte and `in_place` allows that.
inline void check_overlap(Bytes data, Bytes buf, bool in_place) {
  const bool same = in_place && data.data() == buf.data();
  if (!same && overlap(data, buf)) refuse_overlap(in_place);
}

// Where to compute, from the arguments that all classes have after their own.
[[nodiscard]] Execution execution_of(nb::handle threads, std::string device, std::string kernel);

// Keeps GPUs out of forked processes, which inherit nothing usable of a driver. Belongs to each
// object that computes.
class DeviceUse {
 public:
  // Throws Unavailable for a GPU in a process whose parent has used one.
  explicit DeviceUse(const Execution& where);

  // Throws Unavailable if the object uses a GPU and was made before the process was forked.
  void check() const {
    if (is_gpu_) check_gpu();
  }

 private:
  void check_gpu() const;

  bool is_gpu_ = false;
  OwnerProcess owner_;
};

// To be called in a child after os.fork(): it works on one thread from then on, unless it calls
// limit_threads(). Threads of the parent do not exist in it.
void after_fork_in_child() noexcept;

// The value of an argument that is a whole number, or the nearest one of 64 bits. Throws TypeError
// if it is no int.
[[nodiscard]] std::int64_t whole_number(nb::handle value, const std::string& name);

// Throws InvalidArgument as well unless the number is from `least` to `most`.
[[nodiscard]] std::int64_t whole_number(nb::handle value, const std::string& name,
                                        std::int64_t least, std::int64_t most);
template <class T>
[[nodiscard]] T number_of(nb::handle value, const std::string& name, T least, T most) {
  return static_cast<T>(
      whole_number(value, name, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)));
}

// The value of an argument that is an offset or a number of bytes. One that is too large for any
// data stays so. Throws TypeError if it is no int, and InvalidArgument if it is negative.
[[nodiscard]] inline std::uint64_t size_of(nb::handle value, const std::string& name) {
  const std::int64_t found = whole_number(value, name);
  if (found < 0) throw InvalidArgument(name + ": it is negative");
  return static_cast<std::uint64_t>(found);
}

// The value of the argument `threads`: 0 for all cores.
[[nodiscard]] inline int threads_of(nb::handle value) {
  return number_of(value, "threads", 0, 4096);
}

// The value of the argument `context`, of at most `most` bytes, else InvalidArgument.
[[nodiscard]] std::vector<std::uint8_t> context_of(nb::handle object, std::size_t most);

// The properties of an object that say where it computes.
template <class T>
void bind_where(nb::class_<T>& made) {
  made.def_prop_ro("kernel", &T::kernel, "The kernel that runs.")
      .def_prop_ro("device", &T::device, "Where it runs.")
      .def_prop_ro("threads", &T::threads,
                   "The most threads that a call uses; limit_threads() may allow fewer.");
}

// Raises the Python exception `name` of paraes.exceptions.
[[noreturn]] void raise(const char* name, const std::string& text);

void bind_errors(nb::module_& m);
void bind_aead(nb::module_& m);
void bind_ciphers(nb::module_& m);
void bind_cobblestone(nb::module_& m);
void bind_messages(nb::module_& m);
void bind_files(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_objects(nb::module_& m);
void bind_writer(nb::module_& m);

}  // namespace paraes::python
