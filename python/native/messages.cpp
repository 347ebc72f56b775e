// Messages in memory (seal, unseal), and the readers that paraes.open returns.

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "paraes/device_segments.hpp"
#include "paraes/memory.hpp"
#include "paraes/message_streams.hpp"
#include "python/native/device_calls.hpp"
#include "python/native/secrets.hpp"
#include "python/native/streams.hpp"

namespace paraes::python {
namespace {

// ---- Messages in memory ----

nb::bytes seal(AnyBuffer object, const Options& options) {
  const Call call(options, Role::seal, "seal");
  return seal_with(*call.secret, call.where, call.secret->context(), object);
}

nb::bytes unseal(AnyBuffer object, const Options& options) {
  const Call call(options, Role::open, "unseal");
  return unseal_with(*call.secret, call.where, call.secret->context(), object);
}

// ---- Streams ----

// A message that can be read at any offset.
class PlainReader {
 public:
  PlainReader(std::unique_ptr<PositionalSource> source, Message message, const Execution& where,
              bool in_threads)
      : use_(where),
        reader_(std::make_unique<MessageReader>(std::move(source), std::move(message),
                                                where.threads, in_threads)),
        size_(reader_->size()) {}
  ~PlainReader() {
    abandon_devices_after_fork();
    turns_.destroy(on_devices_);
    turns_.destroy(reader_);
  }

  std::size_t readinto(std::uint64_t offset, AnyBuffer object) {
    const Buffer buffer(object, "buffer", Buffer::write);
    use_.check();
    return read_at(offset, buffer.writable());
  }
  nb::bytes read(std::uint64_t offset, std::uint64_t bytes) {
    use_.check();
    NewBytes out(static_cast<std::size_t>(std::min(bytes, size_ - std::min(size_, offset))));
    if (read_at(offset, out.span()) != out.span().size()) {
      throw IntegrityError("the source has become shorter");
    }
    return out.take();
  }
  // out: (memory, offset, bytes), all within the plaintext. Waits.
  void read_to_device(std::uint64_t offset, nb::tuple out, std::string device, std::uint64_t handle,
                      const nb::list& waits, const std::string& kernel) {
    const Place place(std::move(device), handle, waits);
    const DeviceOptions options = options_of(kernel, false);
    const DeviceBuffer buffer = buffer_of(out);
    use_.check();
    if (!device_use_) device_use_ = place.use;
    device_use_->check();
    turns_([&] {
      require_open();
      if (kernel != device_kernel_) on_devices_.reset();
      device_kernel_ = kernel;
      if (!on_devices_) on_devices_ = std::make_unique<OnDevices<DeviceReader>>();
      DeviceReader& reader = on_devices_->get(place.stream, [&] {
        return std::make_unique<DeviceReader>(place.stream, reader_->source(),
                                              reader_->message().parts(), options,
                                              reader_->source_threads());
      });
      for (const DeviceStream& other : place.before) reader.wait_for(other, place.stream);
      reader.read(offset, buffer, place.stream);
    });
  }
  // Overwrites plaintext, and frees what reading to devices needs.
  void forget() {
    abandon_devices_after_fork();
    turns_([&] {
      on_devices_.reset();
      if (reader_) reader_->forget();
    });
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  void close() {
    abandon_devices_after_fork();
    turns_([&] {
      on_devices_.reset();
      reader_.reset();
    });
  }

 private:
  std::size_t read_at(std::uint64_t offset, MutableBytes out) {
    return turns_([&] {
      require_open();
      return reader_->read(offset, out);
    });
  }
  void abandon_devices_after_fork() noexcept {
    if (device_use_ && !is_usable(*device_use_)) static_cast<void>(on_devices_.release());
  }
  void require_open() const {
    if (!reader_) throw InvalidArgument("I/O operation on closed file");
  }

  Turns turns_;
  DeviceUse use_;
  std::unique_ptr<MessageReader> reader_;
  std::optional<DeviceUse> device_use_;
  std::string device_kernel_;                            // that was asked for
  std::unique_ptr<OnDevices<DeviceReader>> on_devices_;  // they read from reader_'s source
  std::uint64_t size_;
};

// A message that is read in order.
class StreamReader {
 public:
  StreamReader(std::unique_ptr<Source> source, Message message, const Execution& where)
      : use_(where),
        source_(std::move(source)),
        stream_(std::in_place, std::move(message), Direction::decrypt, where.threads),
        sealed_(std::in_place, chunk_bytes) {}
  ~StreamReader() {
    if (plain_) secure_zero(plain_->data(), plain_->size());
    turns_.destroy(source_);
  }

  std::size_t readinto(AnyBuffer object) {
    const Buffer buffer(object, "buffer", Buffer::write);
    use_.check();
    return turns_([&] { return read(buffer.writable()); });
  }
  void close() {
    turns_([&] { source_.reset(); });
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

  // Reads as many bytes as are authenticated, at least one unless the message ends.
  std::size_t read(MutableBytes out) {
    if (!source_) throw InvalidArgument("I/O operation on closed file");
    if (damaged_) throw IntegrityError("the message failed to authenticate before");
    if (failed_) throw Error("an earlier read failed: open the file again");
    if (out.empty()) return 0;
    try {
      while (used_ == plain_bytes_ && !ended_) more();
    } catch (const IntegrityError&) {
      damaged_ = true;
      throw;
    } catch (...) {
      failed_ = true;
      throw;
    }
    const std::size_t n = std::min(out.size(), plain_bytes_ - used_);
    if (n != 0) std::copy_n(plain_->data() + used_, n, out.begin());
    used_ += n;
    return n;
  }

  void more() {
    const MutableBytes buffer = sealed_->span();
    const std::size_t n = source_->read(buffer);
    const Bytes sealed = buffer.first(n);
    used_ = 0;
    plain_bytes_ = 0;
    const bool ends = n < buffer.size();
    std::size_t bytes = stream_->output_bytes(n);
    const MutableBytes out = room(ends ? stream_->held() + n : bytes);
    stream_->update(sealed, out.first(bytes));
    if (ends) {
      const std::size_t rest = stream_->final_bytes();
      stream_->finish(out.subspan(bytes, rest));
      bytes += rest;
      ended_ = true;
    }
    plain_bytes_ = bytes;
  }

  MutableBytes room(std::size_t bytes) {
    if (!plain_ || plain_->size() < bytes) {
      if (plain_) secure_zero(plain_->data(), plain_->size());
      plain_ = std::make_unique<IoBuffer>(std::max(bytes, chunk_bytes));
    }
    return plain_->span();
  }

  Turns turns_;
  DeviceUse use_;
  std::unique_ptr<Source> source_;
  std::optional<SegmentStream> stream_;
  std::optional<IoBuffer> sealed_;
  std::unique_ptr<IoBuffer> plain_;
  std::size_t plain_bytes_ = 0;
  std::size_t used_ = 0;
  bool ended_ = false;
  bool damaged_ = false;
  bool failed_ = false;  // otherwise
};

// A source of its own for a file object that is nothing but a regular file, at its start; none for
// others, such as a gzip.GzipFile, which has the descriptor of something else.
std::unique_ptr<Source> plain_file(const nb::object& file) {
  const nb::module_ io = nb::module_::import_("io");
  nb::object raw = file;
  const nb::handle type = file.type();
  if (type.is(io.attr("BufferedReader")) || type.is(io.attr("BufferedRandom"))) {
    raw = file.attr("raw");
  }
  if (!raw.type().is(io.attr("FileIO"))) return nullptr;
  if (number_returned(file.attr("tell")(), "tell") != 0) return nullptr;
  if (type.is(io.attr("BufferedRandom"))) file.attr("flush")();
  const nb::object name = file.attr("name");
  std::string path = PyUnicode_Check(name.ptr()) ? path_of(name) : nb::repr(file).c_str();
  Descriptor descriptor(fcntl(nb::cast<int>(raw.attr("fileno")()), F_DUPFD_CLOEXEC, 3));
  struct stat status = {};
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return nullptr;
  }
  return source_of(std::move(descriptor), std::move(path), status);
}

nb::object open_reader(nb::object file, const Options& options) {
  const Call call(options, Role::open, "open");
  return open_reader_with(*call.secret, call.where, std::move(file));
}

}  // namespace

nb::bytes seal_with(const MessageSecret& secret, const Execution& where, Bytes context,
                    nb::handle object) {
  const Buffer data(object, "data");
  std::optional<Message> message;
  {
    const nb::gil_scoped_release released;
    message.emplace(secret.new_message(context), where);
  }
  const Bytes header = message->header();
  NewBytes out(static_cast<std::size_t>(message->layout().sealed_bytes(data.size())));
  std::copy(header.begin(), header.end(), out.span().begin());
  {
    const WithoutGil released(data.size());
    seal_segments(*message, 0, true, data.bytes(), out.span().subspan(header.size()),
                  where.threads);
  }
  return out.take();
}

nb::bytes unseal_with(const MessageSecret& secret, const Execution& where, Bytes context,
                      nb::handle object) {
  const Buffer data(object, "data");
  std::optional<Message> message;
  SegmentLayout::Extent extent;
  {
    const nb::gil_scoped_release released;
    MemorySource source(data.bytes(), "data");
    message.emplace(secret.open_header(source, context).parts, where);
    extent = message->layout().extent_of(data.size());
  }
  NewBytes out(static_cast<std::size_t>(extent.plain_bytes));
  {
    const WithoutGil released(data.size());
    open_segments(*message, 0, true, data.bytes().subspan(message->header().size()), out.span(),
                  where.threads);
  }
  return out.take();
}

nb::object open_reader_with(const MessageSecret& secret, const Execution& where, nb::object file) {
  std::unique_ptr<Source> source;
  bool in_threads = true;
  if (is_path(file)) {
    const std::string path = path_of(file);
    const nb::gil_scoped_release released;
    source = open_input(path, secret, true);
  } else if (!nb::hasattr(file, "read") && !nb::hasattr(file, "readinto")) {
    throw nb::type_error("file: a path or a binary file object is required");
  } else {
    const bool seeks = nb::hasattr(file, "seekable") && nb::bool_(file.attr("seekable")());
    if (seeks) source = plain_file(file);
    if (!source) {
      in_threads = false;
      if (seeks) {
        source = std::make_unique<FileObjectSource>(file);
      } else {
        source = std::make_unique<StreamObjectSource>(file);
      }
    }
  }
  std::unique_ptr<PlainReader> reader;
  std::unique_ptr<StreamReader> stream;
  {
    const nb::gil_scoped_release released;
    Message message(secret.open_header(*source).parts, where);
    if (dynamic_cast<PositionalSource*>(source.get()) != nullptr) {
      std::unique_ptr<PositionalSource> positional(
          static_cast<PositionalSource*>(source.release()));
      reader = std::make_unique<PlainReader>(std::move(positional), std::move(message), where,
                                             in_threads);
    } else {
      stream = std::make_unique<StreamReader>(std::move(source), std::move(message), where);
    }
  }
  return reader ? nb::cast(reader.release(), nb::rv_policy::take_ownership)
                : nb::cast(stream.release(), nb::rv_policy::take_ownership);
}

void bind_messages(nb::module_& m) {
  m.def("seal", seal, nb::arg("data"), nb::arg("options"));
  m.def("unseal", unseal, nb::arg("data"), nb::arg("options"));
  nb::class_<PlainReader>(m, "PlainReader", "A message that can be read at any offset.")
      .def("readinto", &PlainReader::readinto, nb::arg("offset"), nb::arg("buffer"))
      .def("read", &PlainReader::read, nb::arg("offset"), nb::arg("size"))
      .def("read_to_device", &PlainReader::read_to_device, nb::arg("offset"), nb::arg("out"),
           nb::arg("device"), nb::arg("stream"), nb::arg("waits"), nb::arg("kernel"),
           nb::sig("def read_to_device(self, offset: int, out: tuple[int, int, int], device: str, "
                   "stream: int, waits: list[int], kernel: str) -> None"))
      .def("size", &PlainReader::size)
      .def("forget", &PlainReader::forget)
      .def("close", &PlainReader::close);
  nb::class_<StreamReader>(m, "StreamReader", "A message that is read in order.")
      .def("readinto", &StreamReader::readinto, nb::arg("buffer"))
      .def("close", &StreamReader::close);
  m.def("open_reader", open_reader, nb::arg("file"), nb::arg("options"),
        nb::sig("def open_reader(file: object, options: dict[str, object]) "
                "-> PlainReader | StreamReader"));
}

}  // namespace paraes::python
