// Data in device memory: what paraes.gpu needs of the ciphers of devices.hpp. paraes.gpu knows the
// libraries of arrays, and passes addresses and streams on.

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "paraes/device_segments.hpp"
#include "paraes/devices.hpp"
#include "python/native/common.hpp"
#include "python/native/device_calls.hpp"
#include "python/native/secrets.hpp"
#include "python/native/streams.hpp"

namespace paraes::python {
namespace {

// ---- Arrays

// Keeps an array alive that another library has exported.
struct Exported {
  nb::ndarray<nb::ro> array;
};

// The device of a DLPack capsule, its address and size in bytes, and an object that keeps the array
// alive. Throws InvalidArgument for one that is not contiguous.
nb::tuple parse_dlpack(nb::handle capsule, const std::string& name) {
  if (PyCapsule_CheckExact(capsule.ptr()) == 0) {
    throw nb::type_error((name + ": its __dlpack__ returned no capsule").c_str());
  }
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(capsule, array)) {
    throw nb::type_error(
        (name + ": its __dlpack__ returned no DLPack capsule that is new").c_str());
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t items = 1;
  bool contiguous = true;
  for (std::size_t k = array.ndim(); k-- > 0;) {
    const std::uint64_t length = array.shape(k);
    if (length != 1 && array.stride(k) != static_cast<std::int64_t>(items)) contiguous = false;
    if (length > most || (items != 0 && length > most / items)) {
      throw InvalidArgument(name + ": an array cannot have this shape");
    }
    items *= length;
  }
  if (!contiguous && items != 0) {
    throw InvalidArgument(name + ": the array is not contiguous: copy it first");
  }
  const std::size_t bits = std::size_t{array.dtype().bits} * array.dtype().lanes;
  return nb::make_tuple(array.device_type(), array.device_id(),
                        reinterpret_cast<std::uintptr_t>(array.data()), (items * bits + 7) / 8,
                        Exported{array});
}

// ---- Results

[[nodiscard]] std::string tag_error(const DeviceVerdict& verdict) {
  std::string which;
  if (verdict.messages() > 1) {
    for (std::size_t i = 0; i < verdict.messages(); ++i) {
      if (!verdict.intact(i)) {
        which = " of message " + std::to_string(i);
        break;
      }
    }
  }
  return "the tag" + which +
         " does not match: wrong key, nonce or associated data, or damaged data";
}

// Waits without the GIL until `ready()`. Signals are handled meanwhile.
template <class Ready>
void wait_until(const Ready& ready) {
  std::chrono::microseconds pause(10);
  while (!ready()) {
    {
      const nb::gil_scoped_release released;
      std::this_thread::sleep_for(pause);
    }
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
}

// What a call has enqueued.
template <class T>
class Enqueued {
 public:
  Enqueued(T done, const DeviceUse& use) : done_(std::move(done)), use_(use) {}
  Enqueued(Enqueued&&) noexcept = default;
  Enqueued& operator=(Enqueued&&) = delete;
  ~Enqueued() {
    if (!is_usable(use_)) abandon(done_);
  }
  [[nodiscard]] bool ready() const {
    use_.check();
    return done_.ready();
  }
  void wait() const {
    wait_until([&] { return ready(); });
  }

 protected:
  T done_;

 private:
  DeviceUse use_;
};

using GpuWork = Enqueued<DeviceWork>;

class GpuVerdict : public Enqueued<DeviceVerdict> {
 public:
  // Throws or raises if a message is not authentic, once the verdict is ready.
  using Check = std::function<void(const DeviceVerdict&)>;

  GpuVerdict(DeviceVerdict verdict, Check check, const DeviceUse& use)
      : Enqueued(std::move(verdict), use), check_(std::move(check)) {}

  [[nodiscard]] std::size_t messages() const { return done_.messages(); }
  [[nodiscard]] bool intact(AnyInt index) const {
    const auto i =
        number_of(index, "index", std::size_t{0}, messages() - (messages() != 0 ? 1 : 0));
    wait();
    return done_.intact(i);
  }
  void verify() const {
    wait();
    check_(done_);
  }

 private:
  Check check_;
};

void check_tags(const DeviceVerdict& verdict) {
  if (!verdict.all_intact()) raise("InvalidTag", tag_error(verdict));
}

// ---- Calls

// Arrays that the device may still use.
class Kept {
 public:
  template <class T>
  void add(const T& work, nb::object arrays) {
    if (arrays.is_none()) return;
    kept_.emplace_back([work] { return work.ready(); }, std::move(arrays));
  }
  // Lets go of those that it does not. Needs the GIL.
  void let_go() {
    std::erase_if(kept_, [](const auto& one) { return is_done(one.first); });
  }

 private:
  static bool is_done(const std::function<bool()>& ready) {
    try {
      return ready();
    } catch (const Error&) {
      return false;  // the device is lost
    }
  }

  std::deque<std::pair<std::function<bool()>, nb::object>> kept_;
};

using WorkOrVerdict = std::variant<DeviceWork, DeviceVerdict>;

// Base class of those that have an object for each device, which is made when the device is first
// used. Calls take turns.
template <class T>
class OnGpus {
 protected:
  OnGpus() = default;
  ~OnGpus() {
    if (use_ && !is_usable(*use_)) {
      static_cast<void>(made_.release());
      abandon(kept_);
      return;
    }
    turns_.destroy(made_);
  }

  void check_use(const Place& place) {
    if (!use_) use_ = place.use;
    use_->check();
  }

  // make(): the object of a device. enqueue(object): work, or a verdict, which `check` judges.
  // keep: arrays that must stay until the device is done, or None.
  template <class Make, class Enqueue>
  nb::object run(const Place& place, nb::object keep, GpuVerdict::Check check, const Make& make,
                 const Enqueue& enqueue) {
    const Turns::Turn turn = turns_.take();
    std::optional<WorkOrVerdict> enqueued;
    {
      const nb::gil_scoped_release released;
      T& made = made_->get(place.stream, make);
      enqueued.emplace(enqueue(made));
    }
    kept_.let_go();  // not before: to ask a driver would end a capture of the stream
    if (auto* work = std::get_if<DeviceWork>(&*enqueued); work != nullptr) {
      kept_.add(*work, std::move(keep));
      return nb::cast(GpuWork(std::move(*work), place.use));
    }
    auto& verdict = std::get<DeviceVerdict>(*enqueued);
    kept_.add(verdict, std::move(keep));
    return nb::cast(GpuVerdict(std::move(verdict), std::move(check), place.use));
  }

 private:
  Turns turns_;
  std::optional<DeviceUse> use_;
  Kept kept_;  // until what is made has waited for the device
  std::unique_ptr<OnDevices<T>> made_ = std::make_unique<OnDevices<T>>();
};

using AnyDeviceCipher = std::variant<DeviceEcb, DeviceCbc, DeviceCtr, DeviceXts, DeviceGcm>;

// The ciphers of one key.
class GpuCiphers : public OnGpus<AnyDeviceCipher> {
 public:
  GpuCiphers(std::string mode, AnyBuffer object, AnyInt unit_size, std::string kernel,
             bool allow_leaky)
      : mode_(std::move(mode)),
        unit_bytes_(number_of(unit_size, "unit_size", std::size_t{0}, max_xts_unit_bytes)),
        options_(options_of(std::move(kernel), allow_leaky)) {
    const Buffer key(object, "key");
    const bool xts = mode_ == "XTS";
    if (xts ? key.size() != 32 && key.size() != 64
            : key.size() != 16 && key.size() != 24 && key.size() != 32) {
      throw InvalidArgument(
          xts ? "key: XTS takes 32 or 64 bytes, two halves, not " + std::to_string(key.size())
              : "key: AES takes 16, 24 or 32 bytes, not " + std::to_string(key.size()));
    }
    if (unit_bytes_ % block_bytes != 0) {
      throw InvalidArgument("unit_size: on a GPU, units are whole blocks of 16 bytes, not " +
                            std::to_string(unit_bytes_) + " bytes");
    }
    key_ = SecretBytes(key.bytes());
  }
  // texts: (in, out, tag, iv, associated data), of which the first three are (memory, offset,
  // bytes).
  nb::object call(bool encrypts, std::string device, std::uint64_t handle, const nb::list& texts,
                  const nb::list& waits, nb::object keep) {
    const Place place(std::move(device), handle, waits);
    check_use(place);
    std::deque<Buffer> associated;
    std::vector<DeviceText> list;
    list.reserve(nb::len(texts));
    for (const nb::handle text : texts) list.push_back(text_of(text, associated));
    return run(
        place, std::move(keep), check_tags, [&] { return open(place.stream); },
        [&](AnyDeviceCipher& cipher) {
          std::visit(
              [&](DeviceCipher& any) {
                for (const DeviceStream& other : place.before) any.wait_for(other, place.stream);
              },
              cipher);
          return crypt(cipher, encrypts, list, place.stream);
        });
  }

 private:
  [[nodiscard]] DeviceText text_of(nb::handle object, std::deque<Buffer>& associated) const {
    const auto parts = nb::cast<nb::tuple>(object);
    DeviceText text;
    text.in = buffer_of(parts[0]);
    text.out = buffer_of(parts[1]);
    if (!parts[2].is_none()) text.tag = buffer_of(parts[2]);
    if (mode_ != "ECB") {
      const char* const name = mode_ == "XTS" ? "tweak" : mode_ == "CBC" ? "iv" : "nonce";
      const Buffer iv(parts[3], name);
      const std::size_t right = mode_ == "GCM" ? 12 : 16;
      if (iv.size() != right) {
        throw InvalidArgument(std::string(name) + ": it has " + std::to_string(right) +
                              " bytes, not " + std::to_string(iv.size()));
      }
      std::copy(iv.bytes().begin(), iv.bytes().end(), text.iv.begin());
    }
    if (!parts[4].is_none()) {
      text.aad = associated.emplace_back(parts[4], "associated_data").bytes();
    }
    return text;
  }

  [[nodiscard]] std::unique_ptr<AnyDeviceCipher> open(const DeviceStream& stream) const {
    const Bytes key = key_.span();
    if (mode_ == "ECB") return make<DeviceEcb>(stream, key, options_);
    if (mode_ == "CBC") return make<DeviceCbc>(stream, key, options_);
    if (mode_ == "CTR") return make<DeviceCtr>(stream, key, options_);
    if (mode_ == "XTS") return make<DeviceXts>(stream, key, unit_bytes_, options_);
    return make<DeviceGcm>(stream, key, options_);
  }
  template <class T, class... A>
  [[nodiscard]] static std::unique_ptr<AnyDeviceCipher> make(const A&... arguments) {
    return std::make_unique<AnyDeviceCipher>(std::in_place_type<T>, arguments...);
  }

  static WorkOrVerdict crypt(AnyDeviceCipher& cipher, bool encrypts,
                             std::span<const DeviceText> list, const DeviceStream& stream) {
    if (auto* gcm = std::get_if<DeviceGcm>(&cipher)) {
      if (!encrypts) return gcm->decrypt(list, stream);
      return gcm->encrypt(list, stream);
    }
    if (auto* ctr = std::get_if<DeviceCtr>(&cipher)) return ctr->process(list, stream);
    if (auto* cbc = std::get_if<DeviceCbc>(&cipher)) return cbc->decrypt(list, stream);
    if (auto* ecb = std::get_if<DeviceEcb>(&cipher)) {
      return encrypts ? ecb->encrypt(list, stream) : ecb->decrypt(list, stream);
    }
    auto& xts = std::get<DeviceXts>(cipher);
    return encrypts ? xts.encrypt(list, stream) : xts.decrypt(list, stream);
  }

  std::string mode_;
  std::size_t unit_bytes_;
  DeviceOptions options_;
  SecretBytes key_;
};

// The segments of one message.
class GpuSegments : public OnGpus<DeviceSegments> {
 public:
  GpuSegments(nb::handle header, const Options& given)
      : GpuSegments(header, Call(given, header.is_none() ? Role::seal : Role::open, "Segments")) {}

  [[nodiscard]] nb::bytes header() const {
    return nb::bytes(parts_.header.data(), parts_.header.size());
  }
  [[nodiscard]] std::uint64_t sealed_bytes(AnyInt plain) const {
    return parts_.layout.sealed_bytes(size_of(plain, "plain_bytes"));
  }
  [[nodiscard]] std::uint64_t plain_bytes(AnyInt sealed) const {
    return parts_.layout.extent_of(size_of(sealed, "sealed_bytes")).plain_bytes;
  }
  [[nodiscard]] std::uint64_t plain_offset(AnyInt index) const {
    return parts_.layout.plain_offset(number_of_segment(index, "segment"));
  }
  [[nodiscard]] std::uint64_t sealed_offset(AnyInt index) const {
    return parts_.layout.sealed_offset(number_of_segment(index, "segment"));
  }

  nb::object call(bool seals, AnyInt index, bool ends, nb::tuple plain, nb::tuple sealed,
                  std::string device, std::uint64_t handle, const nb::list& waits,
                  nb::object keep) {
    const std::uint64_t first = number_of_segment(index, "first");
    const Place place(std::move(device), handle, waits);
    check_use(place);
    const DeviceBuffer text = buffer_of(plain);
    const DeviceBuffer sealed_text = buffer_of(sealed);
    const auto check = [layout = parts_.layout, commits = parts_.commits,
                        first](const DeviceVerdict& done) {
      check_segments(done, first, layout, commits);
    };
    return run(
        place, std::move(keep), check,
        [&] { return std::make_unique<DeviceSegments>(place.stream, parts_, options_); },
        [&](DeviceSegments& segments) -> WorkOrVerdict {
          for (const DeviceStream& other : place.before) segments.wait_for(other, place.stream);
          if (seals) return segments.seal(first, ends, text, sealed_text, place.stream);
          return segments.open(first, ends, sealed_text, text, place.stream);
        });
  }

 private:
  GpuSegments(nb::handle header, const Call& call)
      : options_(options_of(call.where.kernel, false)) {
    if (call.where.device != "cpu" || call.where.threads != 0) {
      throw InvalidArgument("device, threads: the arrays of a call say where it works");
    }
    if (header.is_none()) {
      const nb::gil_scoped_release released;
      parts_ = call.secret->new_message();
      return;
    }
    const Buffer start(header, "header");
    const nb::gil_scoped_release released;
    StartSource source(start.bytes());
    parts_ = call.secret->open_header(source).parts;
  }

  [[nodiscard]] std::uint64_t number_of_segment(nb::handle value, const char* name) const {
    const std::uint64_t number = size_of(value, name);
    if (number < parts_.layout.max_segments) return number;
    throw InvalidArgument(std::string(name) + ": a message has at most " +
                          std::to_string(parts_.layout.max_segments) + " segments");
  }

  Message::Parts parts_;
  DeviceOptions options_;
};

}  // namespace

void bind_gpu(nb::module_& m) {
  m.def("parse_dlpack", parse_dlpack, nb::arg("capsule").none(), nb::arg("name"),
        nb::sig("def parse_dlpack(capsule: object, name: str) "
                "-> tuple[int, int, int, int, ExportedArray]"));
  [[maybe_unused]] const nb::class_<Exported> exported(m, "ExportedArray");
  nb::class_<GpuWork>(m, "GpuWork", "The work of one call on a GPU.")
      .def("ready", &GpuWork::ready, "Whether the device has finished. Does not wait.")
      .def("wait", &GpuWork::wait, "Waits until it has.");
  nb::class_<GpuVerdict>(m, "GpuVerdict", "Which messages of one call are authentic.")
      .def("ready", &GpuVerdict::ready, "Whether the device has finished. Does not wait.")
      .def("wait", &GpuVerdict::wait, "Waits until it has.")
      .def("verify", &GpuVerdict::verify,
           "Waits, and raises InvalidTag, or IntegrityError for segments, if one is not authentic.")
      .def("intact", &GpuVerdict::intact, nb::arg("index").none(),
           "Waits, and returns whether message `index` is authentic.")
      .def("__len__", &GpuVerdict::messages);
  nb::class_<GpuCiphers>(m, "GpuCiphers")
      .def(nb::init<std::string, AnyBuffer, AnyInt, std::string, bool>(), nb::arg("mode"),
           nb::arg("key").none(), nb::arg("unit_size").none(), nb::arg("kernel"),
           nb::arg("allow_leaky"))
      .def("call", &GpuCiphers::call, nb::arg("encrypts"), nb::arg("device"), nb::arg("stream"),
           nb::arg("texts"), nb::arg("waits"), nb::arg("keep").none(),
           nb::sig("def call(self, encrypts: bool, device: str, stream: int, texts: "
                   "list[tuple[object, ...]], "
                   "waits: list[int], keep: object | None) -> GpuWork | GpuVerdict"));
  nb::class_<GpuSegments>(m, "GpuSegments")
      .def(nb::init<nb::handle, Options>(), nb::arg("header").none(), nb::arg("options"),
           nb::sig("def __init__(self, header: Buffer | None, options: dict[str, object]) -> None"))
      .def("header", &GpuSegments::header)
      .def("sealed_bytes", &GpuSegments::sealed_bytes, nb::arg("plain_bytes").none())
      .def("plain_bytes", &GpuSegments::plain_bytes, nb::arg("sealed_bytes").none())
      .def("plain_offset", &GpuSegments::plain_offset, nb::arg("segment").none())
      .def("sealed_offset", &GpuSegments::sealed_offset, nb::arg("segment").none())
      .def("call", &GpuSegments::call, nb::arg("seals"), nb::arg("first").none(), nb::arg("ends"),
           nb::arg("plain"), nb::arg("sealed"), nb::arg("device"), nb::arg("stream"),
           nb::arg("waits"), nb::arg("keep").none(),
           nb::sig("def call(self, seals: bool, first: int, ends: bool, "
                   "plain: tuple[int, int, int], sealed: tuple[int, int, int], device: str, "
                   "stream: int, waits: list[int], keep: object | None) -> GpuWork | GpuVerdict"));
}

}  // namespace paraes::python
