// An object that seals a message or owns an output belongs to the process that made it.

#include "paraes/forks.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::in_child;

bool is_refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const WrongProcess&) {
    return true;
  }
  return false;
}

TEST(Forks, AreCountedFromParentToChild) {
  const OwnerProcess mine;
  const unsigned before = forks();
  EXPECT_TRUE(in_child([&] {
    const OwnerProcess of_child;
    return forks() == before + 1 && !mine.is_this() && of_child.is_this() &&
           in_child([&] { return !mine.is_this() && !of_child.is_this(); }) &&
           is_refused([&] { mine.check("this"); });
  }));
  EXPECT_TRUE(mine.is_this());
  EXPECT_EQ(forks(), before);
}

TEST(Forks, LeaveMessagesThatAreSealedToTheirProcess) {
  const Buffer key = support::make_key(32, 1);
  const Buffer plain = support::pattern(100'000);
  const Message::Parts parts = new_paraes_message(key);
  const Message message(parts);
  const auto size = static_cast<std::size_t>(message.layout().sealed_bytes(plain.size()));
  const auto seal = [&](const Message& with) {
    Buffer sealed(size);
    std::copy(with.header().begin(), with.header().end(), sealed.begin());
    seal_segments(with, 0, true, plain, MutableBytes(sealed).subspan(with.header().size()), 1);
    return sealed;
  };
  const Buffer sealed = seal(message);
  const Bytes header = Bytes(sealed).first(message.header().size());
  const Bytes body = Bytes(sealed).subspan(header.size());
  const Message opened(open_paraes_message(header, key));
  EXPECT_TRUE(in_child([&] {
    Buffer out(plain.size());
    open_segments(opened, 0, true, body, out, 1);
    std::vector<WholeMessage> list(1);
    list[0] = {.message = &message, .in = plain, .out = out, .error = nullptr};
    Buffer whole(size);
    list[0].out = whole;
    return out == plain && is_refused([&] { seal(message); }) &&
           // Parts have the same key and nonces.
           is_refused([&] { seal(Message(parts)); }) && is_refused([&] {
             seal_messages(list);
             if (list[0].error) std::rethrow_exception(list[0].error);
           }) &&
           !is_refused([&] { seal(Message(new_paraes_message(key))); });
  }));
  EXPECT_EQ(seal(message), sealed);
}

TEST(Forks, LeaveStreamsToTheirProcess) {
  const Buffer key = support::make_key(16, 1);
  const Buffer iv(16, 1);
  Ctr ctr(key, iv);
  Cbc cbc(key, iv);
  const auto stream = [&](Direction direction, BlockMode mode) {
    RawOptions options;
    options.mode = mode;
    const Buffer xts_key = support::make_key(32, 1);
    options.key = mode == BlockMode::xts ? Bytes(xts_key) : Bytes(key);
    if (mode == BlockMode::cbc || mode == BlockMode::ctr) options.iv = iv;
    return raw_stream(direction, options);
  };
  std::vector<std::unique_ptr<StreamTransform>> seal;
  std::vector<std::unique_ptr<StreamTransform>> open;
  for (const BlockMode mode : {BlockMode::ecb, BlockMode::cbc, BlockMode::ctr, BlockMode::xts}) {
    seal.push_back(stream(Direction::encrypt, mode));
    if (mode != BlockMode::ctr) open.push_back(stream(Direction::decrypt, mode));
  }
  EXPECT_TRUE(in_child([&] {
    Buffer text(4096);
    bool right = is_refused([&] { ctr.process(text, text); }) &&
                 is_refused([&] { cbc.encrypt(text, text); });
    cbc.decrypt(text, text);
    for (const auto& one : seal) right = right && is_refused([&] { one->update(text); });
    for (const auto& one : open) one->update(text);
    // A new message is the child's.
    ctr.reset(iv);
    cbc.reset(iv);
    ctr.process(text, text);
    cbc.encrypt(text, text);
    return right;
  }));
  Buffer text(4096);
  ctr.process(text, text);
  cbc.encrypt(text, text);
}

TEST(Forks, LeaveOutputsToTheirProcess) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path("out");
  const Buffer data = support::pattern(1000);
  for (const bool named : {false, true}) {
    FileSink::Options options;
    options.named = named;
    options.overwrite = true;
    auto sink = std::make_unique<FileSink>(path, options);
    sink->write(data);
    const std::string temporary = sink->temporary();
    EXPECT_TRUE(!named || !temporary.empty());  // unnamed, where the system can do so
    EXPECT_TRUE(in_child([&] {
      const bool refused =
          is_refused([&] { sink->write(data); }) && is_refused([&] { sink->write_at(0, data); }) &&
          is_refused([&] { sink->prepare(); }) && is_refused([&] { sink->commit(); });
      sink.reset();
      return refused && (temporary.empty() || std::filesystem::exists(temporary));
    }));
    sink->commit();
    EXPECT_EQ(std::filesystem::file_size(path), data.size());
  }
}

}  // namespace
}  // namespace paraes
