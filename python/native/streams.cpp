#include "python/native/streams.hpp"

#include <algorithm>
#include <cstring>

namespace paraes::python {

std::uint64_t number_returned(nb::handle value, const char* method) {
  const auto refuse = [&](const std::string& what) {
    nb::raise_type_error("%s() of the file object returned %s: it has to return a number of bytes",
                         method, what.c_str());
  };
  if (PyIndex_Check(value.ptr()) == 0) {
    refuse(std::string("an object of type '") + nb::inst_name(value).c_str() + "'");
  }
  const nb::object number = new_object(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (found < 0 || overflow != 0) refuse(nb::repr(number).c_str());
  return static_cast<std::uint64_t>(found);
}

nb::object LentMemory::lend(std::size_t bytes) {
  const bool is_kept = memory_.is_valid() && Py_REFCNT(memory_.ptr()) > 1;
  if (!memory_.is_valid() || is_kept ||
      static_cast<std::size_t>(PyByteArray_Size(memory_.ptr())) < bytes) {
    memory_.reset();
    memory_ = new_object(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    // It is not, and could have been anybody's.
    std::memset(PyByteArray_AsString(memory_.ptr()), 0, bytes);
  }
  const nb::object all = new_object(PyMemoryView_FromObject(memory_.ptr()));
  return new_object(PySequence_GetSlice(all.ptr(), 0, static_cast<Py_ssize_t>(bytes)));
}

FileObject::~FileObject() {
  const nb::gil_scoped_acquire held;
  memory_ = {};
  file_.reset();
}

std::size_t FileObject::read(MutableBytes buffer) {
  constexpr std::size_t most_at_once = std::size_t{1} << 20;
  std::size_t done = 0;
  const bool reads_into = nb::hasattr(file_, "readinto");
  while (done < buffer.size()) {
    const MutableBytes rest = buffer.subspan(done, std::min(buffer.size() - done, most_at_once));
    std::size_t n = 0;
    if (reads_into) {
      const nb::object view = memory_.lend(rest.size());
      // While this exists, nobody can make the memory smaller.
      const Buffer held(memory_.owner(), "the memory of readinto()");
      const nb::object read = file_.attr("readinto")(view);
      if (read.is_none()) {
        throw IoError("the file object has no data now: it must block until there is some", EAGAIN);
      }
      n = static_cast<std::size_t>(number_returned(read, "readinto"));
      if (n > rest.size()) throw IoError("the file object says that it read too much", EIO);
      std::copy_n(held.bytes().begin(), n, rest.begin());
    } else {
      const nb::object read = file_.attr("read")(rest.size());
      if (read.is_none()) {
        throw IoError("the file object has no data now: it must block until there is some", EAGAIN);
      }
      const Buffer bytes(read, "read()");
      n = bytes.size();
      if (n > rest.size()) throw IoError("the file object returned too much", EIO);
      std::copy(bytes.bytes().begin(), bytes.bytes().end(), rest.begin());
    }
    if (n == 0) break;
    done += n;
  }
  return done;
}

FileObjectSource::FileObjectSource(nb::object file)
    : file_(std::move(file)), name_(nb::repr(file_.get()).c_str()) {
  const nb::object& object = file_.get();
  begin_ = number_returned(object.attr("tell")(), "tell");
  const std::uint64_t end = number_returned(object.attr("seek")(0, 2), "seek");
  object.attr("seek")(begin_);
  size_ = end - std::min(begin_, end);
}

std::size_t FileObjectSource::read(MutableBytes buffer) {
  const std::size_t n = read_at(at_, buffer);
  at_ += n;
  return n;
}

std::size_t FileObjectSource::read_at(std::uint64_t offset, MutableBytes buffer) const {
  const std::lock_guard lock(mutex_);
  const nb::gil_scoped_acquire held;
  file_.get().attr("seek")(begin_ + offset);
  return file_.read(buffer);
}

}  // namespace paraes::python
