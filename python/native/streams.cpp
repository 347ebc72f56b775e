#include "python/native/streams.hpp"

namespace paraes::python {
namespace {

// A memoryview of memory that belongs to this module. It is released before the memory goes, so
// that a file object that kept it finds it invalid.
class View {
 public:
  explicit View(MutableBytes memory)
      : view_(nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(memory.data()),
                                                static_cast<Py_ssize_t>(memory.size()),
                                                PyBUF_WRITE))) {
    if (!view_.is_valid()) nb::raise_python_error();
  }
  ~View() {
    try {
      view_.attr("release")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("paraes: a file object keeps a buffer that was lent to it");
    }
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  [[nodiscard]] const nb::object& object() const noexcept { return view_; }

 private:
  nb::object view_;
};

// Fills `buffer` with what file.readinto or file.read gives, and returns how many bytes came: fewer
// only at the end. Needs the GIL.
std::size_t read_file(const nb::object& file, MutableBytes buffer) {
  std::size_t done = 0;
  const bool reads_into = nb::hasattr(file, "readinto");
  while (done < buffer.size()) {
    const MutableBytes rest = buffer.subspan(done);
    std::size_t n = 0;
    if (reads_into) {
      const View view(rest);
      const nb::object read = file.attr("readinto")(view.object());
      if (read.is_none()) {
        throw IoError("the file object has no data now: it must block until there is some", EAGAIN);
      }
      n = nb::cast<std::size_t>(read);
      if (n > rest.size()) throw IoError("the file object says that it read too much", EIO);
    } else {
      const nb::object read = file.attr("read")(rest.size());
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

}  // namespace

FileObjectSource::FileObjectSource(nb::object file)
    : file_(std::move(file)), name_(nb::repr(file_).c_str()) {
  begin_ = nb::cast<std::uint64_t>(file_.attr("tell")());
  const auto end = nb::cast<std::uint64_t>(file_.attr("seek")(0, 2));
  file_.attr("seek")(begin_);
  size_ = end - std::min(begin_, end);
}

FileObjectSource::~FileObjectSource() {
  const nb::gil_scoped_acquire held;
  file_.reset();
}

std::size_t FileObjectSource::read(MutableBytes buffer) {
  const std::size_t n = read_at(at_, buffer);
  at_ += n;
  return n;
}

std::size_t FileObjectSource::read_at(std::uint64_t offset, MutableBytes buffer) const {
  const std::lock_guard lock(mutex_);
  const nb::gil_scoped_acquire held;
  file_.attr("seek")(begin_ + offset);
  return read_file(file_, buffer);
}

StreamObjectSource::~StreamObjectSource() {
  const nb::gil_scoped_acquire held;
  file_.reset();
}

std::size_t StreamObjectSource::read(MutableBytes buffer) {
  const nb::gil_scoped_acquire held;
  return read_file(file_, buffer);
}

}  // namespace paraes::python
