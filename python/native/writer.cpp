// Encrypts what is written, in order, to a file or a Python file object.

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "paraes/message_streams.hpp"
#include "python/native/secrets.hpp"

namespace paraes::python {
namespace {

class PlainWriter {
 public:
  PlainWriter(std::unique_ptr<MessageWriter> writer, std::shared_ptr<const MessageSecret> secret,
              const Execution& where)
      : use_(where), secret_(std::move(secret)), writer_(std::move(writer)) {}
  ~PlainWriter() { turns_.destroy(writer_); }

  std::size_t write(AnyBuffer object) {
    const Buffer data(object, "data");
    use_.check();
    turns_([&] {
      MessageWriter& writer = open();
      try {
        writer.write(data.bytes());
      } catch (const WrongProcess&) {
        throw;
      } catch (...) {
        writer_.reset();  // nothing is left
        failed_ = true;
        throw;
      }
    });
    return data.size();
  }
  // Ends the message and commits the file; if that fails, nothing is left.
  void finish() {
    use_.check();
    turns_([&] {
      if (failed_) throw Error("an earlier write failed: there is no output");
      const std::unique_ptr<MessageWriter> writer = std::move(writer_);
      if (writer) writer->finish();
    });
  }
  void abort() {
    if (turns_.was_interrupted()) return;  // the destructor leaves it alone
    turns_([&] { writer_.reset(); });
  }
  // Whether there is something to end that this process has begun.
  [[nodiscard]] bool is_pending() {
    return !turns_.was_interrupted() && turns_([&] { return writer_ && writer_->is_ours(); });
  }

 private:
  [[nodiscard]] MessageWriter& open() const {
    if (failed_) throw Error("an earlier write failed: there is no output");
    if (!writer_) throw InvalidArgument("I/O operation on closed file");
    return *writer_;
  }

  Turns turns_;
  DeviceUse use_;
  std::shared_ptr<const MessageSecret> secret_;  // the writer uses it
  std::unique_ptr<MessageWriter> writer_;
  bool failed_ = false;
};

// How many of `bytes` bytes a file object has written, by what its write() returned. A raw file
// (io.RawIOBase) may write fewer. Any other object writes all or throws; but if it says that it
// wrote fewer, the rest is written again.
std::size_t written_bytes(nb::handle returned, std::size_t bytes, bool is_raw) {
  if (is_raw && returned.is_none()) {
    throw IoError("the file object takes no data now: it must block until it does", EAGAIN);
  }
  std::size_t written = bytes;
  const bool is_size = nb::try_cast(returned, written) && written <= bytes;
  if (is_raw && !is_size) {
    throw IoError("the file object says that it wrote another number of bytes than it was given",
                  EIO);
  }
  if (is_size && written == 0 && bytes != 0) throw IoError("the file object took no data", EAGAIN);
  return is_size ? written : bytes;
}

// Writes to a binary file object.
class FileObjectSink final : public Sink {
 public:
  // Needs the GIL.
  explicit FileObjectSink(nb::object file)
      : file_(std::move(file)),
        is_raw_(nb::isinstance(file_, nb::module_::import_("io").attr("RawIOBase"))) {}
  ~FileObjectSink() override {
    const nb::gil_scoped_acquire held;
    file_.reset();
  }

  void write(Bytes data) override {
    const nb::gil_scoped_acquire held;
    // bytes, because the file object may keep a view: asyncio's transports do.
    NewBytes copy(data.size());
    std::copy(data.begin(), data.end(), copy.span().begin());
    const nb::object bytes = copy.take();
    nb::object rest = new_object(PyMemoryView_FromObject(bytes.ptr()));
    std::size_t left = data.size();
    while (left != 0) {
      const std::size_t n = written_bytes(file_.attr("write")(rest), left, is_raw_);
      left -= n;
      rest = new_object(PySequence_GetSlice(rest.ptr(), static_cast<Py_ssize_t>(n),
                                            static_cast<Py_ssize_t>(n + left)));
    }
  }
  void commit() override {}

 private:
  nb::object file_;
  bool is_raw_;
};

nb::object open_writer(nb::object file, bool exclusive, const Options& options) {
  const Call call(options, Role::seal, "open");
  return open_writer_with(call.secret, call.where, std::move(file), exclusive);
}

}  // namespace

nb::object open_writer_with(const std::shared_ptr<const MessageSecret>& secret,
                            const Execution& where, nb::object file, bool exclusive) {
  std::unique_ptr<MessageWriter> writer;
  if (is_path(file)) {
    const std::string path = path_of(file);
    const nb::gil_scoped_release released;
    FileOptions output;
    output.overwrite = !exclusive;
    output.execution = where;
    writer = create_message(path, *secret, output);
  } else if (nb::hasattr(file, "write")) {
    auto sink = std::make_unique<FileObjectSink>(std::move(file));
    const nb::gil_scoped_release released;
    writer = std::make_unique<MessageWriter>(std::move(sink), Message(secret->new_message(), where),
                                             where.threads);
  } else {
    throw nb::type_error("file: a path or a binary file object is required");
  }
  return nb::cast(std::make_unique<PlainWriter>(std::move(writer), secret, where));
}

void bind_writer(nb::module_& m) {
  nb::class_<PlainWriter>(m, "PlainWriter", "A message that is being written.")
      .def("write", &PlainWriter::write, nb::arg("data"))
      .def("finish", &PlainWriter::finish)
      .def("abort", &PlainWriter::abort)
      .def("is_pending", &PlainWriter::is_pending);
  m.def("open_writer", open_writer, nb::arg("file"), nb::arg("exclusive"), nb::arg("options"),
        nb::sig("def open_writer(file: object, exclusive: bool, options: dict[str, object]) "
                "-> PlainWriter"));
}

}  // namespace paraes::python
