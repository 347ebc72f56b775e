// Encrypts what is written, in order, to a file or a Python file object.

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "paraes/messages.hpp"
#include "paraes/secret.hpp"
#include "paraes/threads.hpp"
#include "python/native/places.hpp"
#include "python/native/secrets.hpp"

namespace paraes::python {
namespace {

// Small writes are gathered up to this size.
constexpr std::uint64_t pending_capacity = std::uint64_t{1} << 20;
// The bytes that one thread seals and writes at a time.
constexpr std::uint64_t job_bytes = std::uint64_t{256} << 10;

// Not for callers that hold the GIL. One caller at a time.
class Writer {
 public:
  // To a file. `commit` gives it its name when the message is complete.
  using Commit = std::function<void(FileSink&)>;
  Writer(std::unique_ptr<FileSink> file, Commit commit, Message message, int threads)
      : file_(std::move(file)),
        commit_(std::move(commit)),
        message_(std::move(message)),
        threads_(threads) {}
  // To whatever takes the bytes in order.
  using Write = std::function<void(MutableBytes)>;
  Writer(Write write, Message message, int threads)
      : write_(std::move(write)), message_(std::move(message)), threads_(threads) {}
  ~Writer() {
    if (pending_) secure_zero(pending_->data(), pending_->size());
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Whether this process made it. In a child, write and finish throw WrongProcess, and the
  // destructor changes nothing.
  [[nodiscard]] bool is_ours() const noexcept { return owner_.is_this(); }

  void write(Bytes plain) {
    owner_.check("a file that is being written");
    const SegmentLayout& layout = message_.layout();
    // Refuse what no message can hold before the first byte of it is sealed.
    static_cast<void>(layout.segments_of(written_ + plain.size()));
    const bool keeps_full = layout.last == SegmentLayout::Last::any;
    const auto bytes = plain.size();
    while (!plain.empty()) {
      const std::uint64_t begin = layout.plain_offset(next_);
      if (pending_bytes_ == 0 && plain.size() >= pending_capacity) {
        // Whole segments, without a copy. Tink's last one may be whole, so it stays behind.
        const std::uint64_t whole = layout.segment_at(begin + plain.size() - (keeps_full ? 1 : 0));
        const auto n = static_cast<std::size_t>(layout.plain_offset(whole) - begin);
        if (n != 0) {
          seal(plain.first(n), false);
          plain = plain.subspan(n);
          continue;
        }
      }
      // Room for whole segments.
      const std::uint64_t segments =
          std::max<std::uint64_t>(1, pending_capacity / layout.segment_bytes);
      const auto full = static_cast<std::size_t>(layout.plain_offset(next_ + segments) - begin);
      if (pending_bytes_ == full) {  // and more follows
        seal({pending_->data(), full}, false);
        pending_bytes_ = 0;
        continue;
      }
      const std::size_t n = std::min(plain.size(), full - pending_bytes_);
      if (!pending_ || pending_->size() < pending_bytes_ + n) {
        // Grows with the data, because Tink allows segments of 2 GiB.
        const std::size_t size = std::min(
            full,
            std::max<std::size_t>({std::size_t{64} << 10, 2 * pending_bytes_, pending_bytes_ + n}));
        auto larger = std::make_unique<IoBuffer>(size);
        if (pending_) {
          std::memcpy(larger->data(), pending_->data(), pending_bytes_);
          secure_zero(pending_->data(), pending_->size());
        }
        pending_ = std::move(larger);
      }
      std::memcpy(pending_->data() + pending_bytes_, plain.data(), n);
      pending_bytes_ += n;
      plain = plain.subspan(n);
    }
    written_ += bytes;
  }

  // Ends the message and commits the file.
  void finish() {
    owner_.check("a file that is being written");
    seal({pending_ ? pending_->data() : nullptr, pending_bytes_}, true);
    pending_bytes_ = 0;
    if (file_) commit_(*file_);
  }

 private:
  // Seals and writes the next segments: whole ones, unless the message ends with them.
  void seal(Bytes plain, bool ends) {
    const SegmentLayout& layout = message_.layout();
    const std::uint64_t first = next_;
    const std::uint64_t begin = layout.plain_offset(first);
    // An empty text is no segment, but an empty message and the end of a C2SP message are one.
    std::uint64_t count = 0;
    if (ends) {
      count = layout.segments_of(begin + plain.size()) - first;
    } else if (!plain.empty()) {
      count = layout.segment_at(begin + plain.size()) - first;
    }
    if (!has_header_) {
      const Bytes header = message_.header();
      if (file_) {
        file_->write_at(0, header);
      } else {
        std::vector<std::uint8_t> copy(header.begin(), header.end());
        write_(copy);
      }
      has_header_ = true;
    }
    if (count == 0) return;

    const std::size_t launch = message_.cipher().launch_bytes();
    const bool alone = !file_ || message_.cipher().threads() > 1;
    const std::uint64_t bytes = launch != 0 ? launch : alone ? pending_capacity : job_bytes;
    const std::uint64_t per_job = std::max<std::uint64_t>(1, bytes / layout.segment_bytes);
    const std::uint64_t jobs = (count + per_job - 1) / per_job;
    const unsigned most = launch != 0     ? message_.cipher().launch_threads()
                          : threads_ == 0 ? static_cast<unsigned>(available_cores())
                                          : static_cast<unsigned>(threads_);
    const auto workers = alone ? 1U : static_cast<unsigned>(std::min<std::uint64_t>(most, jobs));
    if (sealed_.size() < workers) sealed_.resize(workers);
    const auto seal_job = [&](unsigned worker, std::uint64_t job) {
      const std::uint64_t from = first + job * per_job;
      const std::uint64_t n = std::min(per_job, first + count - from);
      const bool last = from + n == first + count;
      const auto at = static_cast<std::size_t>(layout.plain_offset(from) - begin);
      const std::size_t end =
          last ? plain.size() : static_cast<std::size_t>(layout.plain_offset(from + n) - begin);
      const Bytes text = plain.subspan(at, end - at);
      const MutableBytes out =
          grown(sealed_[worker], text.size() + static_cast<std::size_t>(n) * segment_tag_bytes);
      seal_segments(message_, from, ends && last, text, out, alone ? threads_ : 1);
      if (file_) {
        file_->write_at(layout.sealed_offset(from), out);
      } else {
        write_(out);
      }
    };
    if (workers == 1) {
      for (std::uint64_t job = 0; job < jobs; ++job) seal_job(0, job);
    } else {
      for_each_job(workers, jobs, seal_job);
    }
    next_ += count;
  }

  std::unique_ptr<FileSink> file_;
  Commit commit_;
  Write write_;
  Message message_;
  int threads_;
  OwnerProcess owner_;
  std::uint64_t next_ = 0;  // the next segment
  std::uint64_t written_ = 0;
  bool has_header_ = false;
  std::unique_ptr<IoBuffer> pending_;  // plaintext of segments that are not complete yet
  std::size_t pending_bytes_ = 0;
  std::vector<std::unique_ptr<IoBuffer>> sealed_;  // one for each thread
};

class PlainWriter {
 public:
  PlainWriter(std::unique_ptr<Writer> writer, std::unique_ptr<Secrets> secrets,
              const Execution& where)
      : use_(where), secrets_(std::move(secrets)), writer_(std::move(writer)) {}
  ~PlainWriter() { turns_.destroy(writer_); }

  std::size_t write(AnyBuffer object) {
    const Buffer data(object, "data");
    use_.check();
    turns_([&] {
      Writer& writer = open();
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
      const std::unique_ptr<Writer> writer = std::move(writer_);
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
  [[nodiscard]] Writer& open() const {
    if (!writer_) throw InvalidArgument("I/O operation on closed file");
    return *writer_;
  }

  Turns turns_;
  DeviceUse use_;
  std::unique_ptr<Secrets> secrets_;  // the writer's commit uses them
  std::unique_ptr<Writer> writer_;
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

std::unique_ptr<PlainWriter> open_writer(nb::object file, bool exclusive, const Options& options) {
  const ForgottenOptions forgotten(options);
  const Execution where = take_where(options);
  const DeviceUse use(where);
  auto secrets = std::make_unique<Secrets>(options, Role::seal);
  check_all_taken(options, "open");
  std::unique_ptr<Writer> writer;
  if (is_path(file)) {
    const std::string path = path_of(file);
    const nb::gil_scoped_release released;
    const OutputOptions output = {.overwrite = !exclusive, .input = nullptr};
    auto sink = create(path, *secrets, output);
    writer = std::make_unique<Writer>(
        std::move(sink),
        [path, kept = secrets.get(), output](FileSink& complete) {
          commit(complete, path, *kept, output);
        },
        Message(secrets->new_message(), where), where.threads);
  } else if (nb::hasattr(file, "write")) {
    const bool is_raw = nb::isinstance(file, nb::module_::import_("io").attr("RawIOBase"));
    // Deletes the reference with the GIL.
    const std::shared_ptr<nb::object> target(new nb::object(file), [](nb::object* held) {
      const nb::gil_scoped_acquire acquired;
      delete held;
    });
    const nb::gil_scoped_release released;
    writer = std::make_unique<Writer>(
        [target, is_raw](MutableBytes data) {
          const nb::gil_scoped_acquire held;
          // bytes, because the file object may keep a view: asyncio's transports do.
          NewBytes copy(data.size());
          std::copy(data.begin(), data.end(), copy.span().begin());
          const nb::object bytes = copy.take();
          nb::object rest = new_object(PyMemoryView_FromObject(bytes.ptr()));
          std::size_t left = data.size();
          while (left != 0) {
            const std::size_t n = written_bytes(target->attr("write")(rest), left, is_raw);
            left -= n;
            rest = new_object(PySequence_GetSlice(rest.ptr(), static_cast<Py_ssize_t>(n),
                                                  static_cast<Py_ssize_t>(n + left)));
          }
        },
        Message(secrets->new_message(), where), where.threads);
  } else {
    throw nb::type_error("file: a path or a binary file object is required");
  }
  return std::make_unique<PlainWriter>(std::move(writer), std::move(secrets), where);
}

}  // namespace

void bind_writer(nb::module_& m) {
  nb::class_<PlainWriter>(m, "PlainWriter", "A message that is being written.")
      .def("write", &PlainWriter::write, nb::arg("data"))
      .def("finish", &PlainWriter::finish)
      .def("abort", &PlainWriter::abort)
      .def("is_pending", &PlainWriter::is_pending);
  m.def("open_writer", open_writer, nb::arg("file"), nb::arg("exclusive"), nb::arg("options"));
}

}  // namespace paraes::python
