// Headers of messages with recipients: the preface, the age file and the slot.

#include "paraes/recipients.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "tests/support/age_file.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using support::age_version_line;
using support::Buffer;
using support::caught;
using support::mac_line;
using support::make_age_file;
using support::message_of;
using support::OrderedSource;
using support::RandomSource;
using support::ssh_stanza;
using support::throws;
using support::x25519_stanza;

const Buffer run_key = support::make_key(32, 7);
const Buffer context = {1, 2, 3};

Buffer input_key_of(unsigned key_bits) { return support::make_key(key_bits / 8, 9); }

Buffer join(Bytes first, Bytes second) {
  Buffer all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// ---- The preface ----

// The bytes of a preface, written down from docs/formats.md.
Buffer preface_bytes(std::uint8_t kdf, std::uint8_t aead, std::uint32_t wrap_bytes) {
  Buffer text = {'P', 'A', 'R', 'A', 'E', 'S', '\r', '\n', 1, kdf, aead, 0};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text.push_back(static_cast<std::uint8_t>(wrap_bytes >> shift));
  }
  text.resize(Preface::bytes);
  return text;
}

// Why Preface::parse refuses it; empty if it does not.
std::string refusal_of_preface(Bytes start) {
  return message_of<IntegrityError>([&] { static_cast<void>(Preface::parse(start)); });
}

TEST(Preface, OfRecipients_IsParsedAndEncodedAsTheFormatSays) {
  for (const unsigned key_bits : {128U, 256U}) {
    for (const std::uint32_t wrap_bytes : {105U, 300U, 0x010203U, std::uint32_t{max_wrap_bytes}}) {
      const Buffer text = preface_bytes(2, key_bits == 128 ? 1 : 2, wrap_bytes);
      const Preface preface = Preface::parse(text);
      EXPECT_EQ(preface.kdf, Kdf::recipients);
      EXPECT_EQ(preface.key_bits, key_bits);
      EXPECT_EQ(preface.wrap_bytes, wrap_bytes);
      EXPECT_EQ(support::difference(preface.encode(), text), "");
      const Preface made = Preface::for_recipients(key_bits, wrap_bytes - slot_bytes(key_bits));
      EXPECT_EQ(support::difference(made.encode(), text), "");
    }
  }
}

TEST(Preface, OfRecipients_NeedsAWrapThatIsLongerThanASlotAndFits) {
  EXPECT_EQ(slot_bytes(256), 104U);
  EXPECT_EQ(slot_bytes(128), 88U);
  const auto refused = [](std::uint8_t aead, std::uint32_t wrap_bytes) {
    const std::string why = refusal_of_preface(preface_bytes(2, aead, wrap_bytes));
    if (why.empty()) return false;
    EXPECT_NE(why.find("has " + std::to_string(wrap_bytes) + " bytes"), std::string::npos) << why;
    return true;
  };
  const struct {
    std::uint8_t aead;
    bool refused;
    std::vector<std::uint32_t> wrap_bytes;
  } cases[] = {{2, true, {0, 1, 103, 104, (1U << 18) + 1, 1U << 24, ~0U}},
               {2, false, {105, 1U << 18}},
               {1, true, {0, 87, 88, (1U << 18) + 1}},
               {1, false, {89, 103, 104, 1U << 18}}};
  for (const auto& c : cases) {
    for (const std::uint32_t n : c.wrap_bytes) EXPECT_EQ(refused(c.aead, n), c.refused) << n;
  }
}

TEST(Preface, OfRecipients_RefusesScryptParameters) {
  for (std::size_t at = 11; at < Preface::bytes; at = at == 11 ? 16 : at + 1) {
    Buffer text = preface_bytes(2, 2, 300);
    text[at] = 1;
    EXPECT_NE(refusal_of_preface(text).find("no scrypt"), std::string::npos) << at;
  }
}

TEST(Preface, Context_IsThePrefaceWithoutTheSizeOfTheWrap) {
  const Preface recipients = Preface::for_recipients(128, 1000);
  EXPECT_EQ(support::difference(recipients.context(), preface_bytes(2, 1, 0)), "");
  EXPECT_EQ(recipients.wrap_bytes, 1088U);
  const Preface larger = Preface::for_recipients(128, 2000);
  EXPECT_EQ(support::difference(larger.context(), recipients.context()), "");
  const Preface passphrase = Preface::for_passphrase(256, 5);
  EXPECT_EQ(support::difference(passphrase.context(), passphrase.encode()), "");
}

TEST(Preface, ForRecipients_RefusesAgeFilesAndKeysThatDoNotFit) {
  for (const unsigned key_bits : {128U, 256U}) {
    const std::size_t most = max_wrap_bytes - slot_bytes(key_bits);
    EXPECT_EQ(Preface::for_recipients(key_bits, 1).wrap_bytes, 1 + slot_bytes(key_bits));
    EXPECT_EQ(Preface::for_recipients(key_bits, most).wrap_bytes, max_wrap_bytes);
    for (const std::size_t bytes : {std::size_t{0}, most + 1, ~std::size_t{0}}) {
      EXPECT_THROW(static_cast<void>(Preface::for_recipients(key_bits, bytes)), InvalidArgument)
          << bytes;
    }
  }
}

// ---- The age file ----

// Why parse_age_header refuses it; empty if it does not. Lets other exceptions than IntegrityError
// pass.
std::string refusal_of(const std::string& age_file) {
  return message_of<IntegrityError>(
      [&] { static_cast<void>(parse_age_header(support::bytes_of(age_file))); });
}

TEST(AgeHeader, Stanzas_AreReturnedInOrder) {
  const std::string grease = "-> grease-1 ! ~ 0\n\n";
  const auto stanzas = parse_age_header(make_age_file(x25519_stanza + ssh_stanza + grease));
  ASSERT_EQ(stanzas.size(), 3U);
  EXPECT_EQ(stanzas[0].type, "X25519");
  EXPECT_EQ(stanzas[0].arguments, std::vector<std::string>{std::string(43, 'x')});
  EXPECT_EQ(stanzas[1].type, "ssh-rsa");
  EXPECT_EQ(stanzas[1].arguments, std::vector<std::string>{"tagTAG"});
  EXPECT_EQ(stanzas[2].type, "grease-1");
  EXPECT_EQ(stanzas[2].arguments, (std::vector<std::string>{"!", "~", "0"}));
  // A stanza may have no arguments, and a header no payload.
  EXPECT_EQ(refusal_of(age_version_line + "-> type\n\n" + mac_line), "");
}

TEST(AgeHeader, Malformed_IsRefused) {
  const std::string body = std::string(43, 'B') + "\n";
  const auto with_line = [&](const std::string& line) {
    return age_version_line + line + "\n" + body + mac_line;
  };
  const auto with_body = [&](const std::string& lines) {
    return age_version_line + "-> X25519 abc\n" + lines + mac_line;
  };
  const auto with_end = [&](const std::string& end) {
    return age_version_line + x25519_stanza + end;
  };
  const std::string mac(43, 'M');
  struct Case {
    const char* name;
    std::string text;
    const char* why;
  };
  const Case cases[] = {
      {"armor", "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24=\n", "armored"},
      {"nothing", "", "does not begin"},
      {"other version", "age-encryption.org/v2\n" + x25519_stanza + mac_line, "does not begin"},
      {"longer version", "age-encryption.org/v11\n" + x25519_stanza + mac_line, "does not begin"},
      {"space after the version", "age-encryption.org/v1 \n" + x25519_stanza + mac_line,
       "does not begin"},
      {"carriage return", "age-encryption.org/v1\r\n" + x25519_stanza + mac_line, "does not begin"},
      {"no version", x25519_stanza + mac_line, "does not begin"},
      {"scrypt", with_line("-> scrypt bm90aGluZw 18"), "scrypt"},
      {"scrypt behind another", with_end("-> scrypt c2FsdA 18\n" + body + mac_line), "scrypt"},
      {"no stanza", age_version_line + mac_line, "no recipients"},
      {"no type", with_line("-> "), "malformed stanza"},
      {"empty type", with_line("->  X25519"), "malformed stanza"},
      {"empty argument", with_line("-> X25519  abc"), "malformed stanza"},
      {"empty last argument", with_line("-> X25519 abc "), "malformed stanza"},
      {"tab in the type", with_line("-> X\t25519 abc"), "malformed stanza"},
      {"control character in the type", with_line("-> X\x01 abc"), "malformed stanza"},
      {"NUL in an argument", with_line(std::string("-> X25519 a\0c", 13)), "malformed stanza"},
      {"escape in an argument", with_line("-> X25519 \x1b[31m"), "malformed stanza"},
      {"DEL in an argument", with_line("-> X25519 \x7f"), "malformed stanza"},
      {"carriage return in an argument", with_line("-> X25519 abc\r"), "malformed stanza"},
      {"UTF-8 in an argument", with_line("-> X25519 \xc3\xa4"), "malformed stanza"},
      {"no space after the arrow", with_line("->X25519 abc"), "malformed header"},
      {"arrow alone", with_line("->"), "malformed header"},
      {"body line of 65", with_body(std::string(65, 'B') + "\n"), "malformed stanza"},
      {"body line of 65 behind one of 64",
       with_body(std::string(64, 'B') + "\n" + std::string(65, 'B') + "\n"), "malformed stanza"},
      // The line with the MAC takes its place.
      {"no short last line", with_body(std::string(64, 'B') + "\n"), "malformed stanza"},
      {"no body", with_body(""), "malformed stanza"},
      {"padding in the body", with_body("QUJDRA==\n"), "malformed stanza"},
      {"space in the body", with_body("QUJD RA\n"), "malformed stanza"},
      {"carriage return in the body", with_body("QUJDRA\r\n"), "malformed stanza"},
      {"base64url in the body", with_body("QUJ_-A\n"), "malformed stanza"},
      {"two short lines", with_body("QUJD\nQUJD\n"), "malformed header"},
      {"MAC of 42", with_end("--- " + mac.substr(1) + "\n"), "malformed header"},
      {"MAC of 44", with_end("--- " + mac + "M\n"), "malformed header"},
      {"no MAC", with_end("---\n"), "malformed header"},
      {"no space before the MAC", with_end("---" + mac + "M\n"), "malformed header"},
      {"two spaces before the MAC", with_end("---  " + mac.substr(1) + "\n"), "malformed header"},
      {"padded MAC", with_end("--- " + mac + "=\n"), "malformed header"},
      {"MAC with another character", with_end("--- " + mac.substr(1) + "-\n"), "malformed header"},
      {"MAC without a newline", with_end("--- " + mac), "incomplete"},
      {"payload without a MAC", with_end(std::string(100, '\xee')), "incomplete"},
      {"empty line before the MAC", with_end("\n" + mac_line), "malformed header"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(refusal_of(c.text).find(c.why), std::string::npos)
        << c.name << ": " << refusal_of(c.text);
  }
  // The lines that the cases are made of are good ones.
  EXPECT_EQ(refusal_of(with_line("-> X25519 abc")), "");
  EXPECT_EQ(refusal_of(with_body(body)), "");
  EXPECT_EQ(refusal_of(with_body(std::string(64, 'B') + "\n\n")), "");
  EXPECT_EQ(refusal_of(with_body("\n")), "");
  EXPECT_EQ(refusal_of(with_end("--- " + mac + "\n")), "");
}

// ---- The wrap ----

struct Sample {
  Preface preface;
  Buffer age_file;
  Buffer input_key;
  Buffer wrap;
  Buffer header;  // with that of a c2sp message
};

Sample make_sample(unsigned key_bits, const std::string& stanzas = x25519_stanza) {
  Sample sample;
  sample.age_file = make_age_file(stanzas);
  sample.preface = Preface::for_recipients(key_bits, sample.age_file.size());
  sample.input_key = input_key_of(key_bits);
  sample.wrap = make_wrap(sample.preface, sample.age_file, run_key, sample.input_key);
  sample.header = new_paraes_message(sample.preface, sample.input_key, context, sample.wrap).header;
  return sample;
}

std::string key_in_slot(Bytes header, Bytes key = run_key) {
  const SecretBytes opened = open_slot(header, key);
  return {opened.span().begin(), opened.span().end()};
}

TEST(Wrap, Slot_GivesTheInputKeyBack) {
  for (const unsigned key_bits : {128U, 256U}) {
    const Sample sample = make_sample(key_bits);
    ASSERT_EQ(sample.wrap.size(), sample.preface.wrap_bytes);
    EXPECT_EQ(
        support::difference(Bytes(sample.wrap).first(sample.age_file.size()), sample.age_file), "");
    const std::string expected(sample.input_key.begin(), sample.input_key.end());
    EXPECT_EQ(key_in_slot(sample.header), expected);
    // The header of the c2sp message is not needed.
    const Buffer start = join(sample.preface.encode(), sample.wrap);
    EXPECT_EQ(key_in_slot(start), expected);
    EXPECT_EQ(support::difference(age_file_of(sample.header), sample.age_file), "");
    EXPECT_EQ(support::difference(age_file_of(start), sample.age_file), "");
  }
}

TEST(Wrap, Slot_IsAC2spMessageWhoseContextIsThatOfThePreface) {
  for (const unsigned key_bits : {128U, 256U}) {
    const Sample sample = make_sample(key_bits);
    const Bytes slot = Bytes(sample.wrap).last(slot_bytes(key_bits));
    const Message message(open_c2sp_message(slot.first(c2sp_header_bytes), run_key,
                                            preface_bytes(2, key_bits == 128 ? 1 : 2, 0)),
                          {});
    Buffer plain(key_bits / 8);
    WholeMessage whole;
    whole.message = &message;
    whole.in = slot;
    whole.out = plain;
    open_messages({&whole, 1});
    EXPECT_FALSE(whole.error);
    EXPECT_EQ(support::difference(plain, sample.input_key), "");
  }
}

TEST(Wrap, SlotsOfOneKey_AllDiffer) {
  const Sample sample = make_sample(256);
  EXPECT_NE(make_wrap(sample.preface, sample.age_file, run_key, sample.input_key), sample.wrap);
}

TEST(Wrap, SlotOfAnotherPrefaceOrRunKey_IsAWrongKey) {
  const Sample sample = make_sample(256);
  const auto error =
      caught<WrongKey>([&] { return open_slot(sample.header, support::make_key(32, 8)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->secret(), WrongKey::Secret::identity);
  EXPECT_NE(std::string(error->what()).find("slot"), std::string::npos) << error->what();
  // A preface for AES-128, with a wrap of the same size: its slot begins 16 bytes later.
  Preface other = Preface::for_recipients(128, sample.age_file.size() + 16);
  ASSERT_EQ(other.wrap_bytes, sample.preface.wrap_bytes);
  EXPECT_THROW(static_cast<void>(open_slot(join(other.encode(), sample.wrap), run_key)), WrongKey);
  // A slot that was made for AES-128, in a message of AES-256.
  const Message message(new_c2sp_message(run_key, preface_bytes(2, 1, 0)), {});
  Buffer wrap = sample.wrap;
  WholeMessage whole;
  whole.message = &message;
  whole.in = sample.input_key;
  whole.out = MutableBytes(wrap).last(slot_bytes(256));
  seal_messages({&whole, 1});
  ASSERT_FALSE(whole.error);
  EXPECT_THROW(static_cast<void>(open_slot(join(sample.preface.encode(), wrap), run_key)),
               WrongKey);
}

TEST(Wrap, FlippedBitInPrefaceOrSlot_IsRefused) {
  for (const unsigned key_bits : {128U, 256U}) {
    const Sample sample = make_sample(key_bits);
    const std::size_t slot = Preface::bytes + sample.age_file.size();
    const std::size_t text = slot + c2sp_header_bytes;
    const std::size_t end = Preface::bytes + sample.wrap.size();
    for (std::size_t at = 0; at < end; at = at + 1 == Preface::bytes ? slot : at + 1) {
      for (unsigned change = 1; change < 256; ++change) {
        if (at >= slot && (change & (change - 1)) != 0) continue;  // single bits
        Buffer changed = sample.header;
        changed[at] ^= static_cast<std::uint8_t>(change);
        std::string result = "opened";
        try {
          static_cast<void>(open_slot(changed, run_key));
        } catch (const WrongKey&) {
          result = "wrong key";
        } catch (const IntegrityError&) {
          result = "damaged";
        }
        if (at < Preface::bytes) {
          ASSERT_NE(result, "opened") << "byte " << at << " ^ " << change;
        } else {
          ASSERT_EQ(result, at < text ? "wrong key" : "damaged") << "byte " << at - slot;
        }
      }
    }
  }
}

TEST(Wrap, TruncatedHeader_IsRefusedAtEveryLength) {
  const Sample sample = make_sample(256);
  for (std::size_t n = 0; n < Preface::bytes + sample.wrap.size(); ++n) {
    const Bytes part = Bytes(sample.header).first(n);
    EXPECT_TRUE(throws<IntegrityError>([&] { return open_slot(part, run_key); }, "truncated")) << n;
    EXPECT_TRUE(throws<IntegrityError>([&] { return age_file_of(part); }, "truncated")) << n;
  }
}

TEST(Wrap, AgeFileThatIsMalformed_IsRefused) {
  const Sample sample = make_sample(256);
  Buffer header = sample.header;
  header[Preface::bytes] = '-';
  EXPECT_THROW(static_cast<void>(age_file_of(header)), IntegrityError);
  const Sample scrypt = make_sample(256, "-> scrypt c2FsdA 18\nQUJD\n");
  EXPECT_THROW(static_cast<void>(age_file_of(scrypt.header)), IntegrityError);
}

TEST(Wrap, ArgumentsThatDoNotFit_AreRefused) {
  const Sample sample = make_sample(256);
  const auto make = [&](const Preface& preface, Bytes age_file, Bytes key, Bytes input_key) {
    static_cast<void>(make_wrap(preface, age_file, key, input_key));
  };
  const Bytes age_file = sample.age_file;
  const Bytes input_key = sample.input_key;
  EXPECT_NO_THROW(make(sample.preface, age_file, run_key, input_key));
  for (const std::size_t bytes : {0U, 16U, 31U, 33U}) {
    const Buffer key = support::make_key(bytes);
    EXPECT_THROW(make(sample.preface, age_file, key, input_key), InvalidArgument) << bytes;
    EXPECT_THROW(make(sample.preface, age_file, run_key, key), InvalidArgument) << bytes;
    EXPECT_THROW(static_cast<void>(open_slot(sample.header, key)), InvalidArgument) << bytes;
  }
  EXPECT_THROW(make(sample.preface, age_file.first(age_file.size() - 1), run_key, input_key),
               InvalidArgument);
  EXPECT_THROW(make(sample.preface, join(age_file, Buffer(1)), run_key, input_key),
               InvalidArgument);
  EXPECT_THROW(make(Preface::for_key(32), {}, run_key, input_key), InvalidArgument);
  Preface impossible = sample.preface;
  impossible.key_bits = 192;
  const Buffer short_key = support::make_key(24);
  impossible.wrap_bytes = age_file.size() + slot_bytes(192);
  EXPECT_THROW(make(impossible, age_file, run_key, short_key), InvalidArgument);
  impossible = sample.preface;
  impossible.scrypt_log2n = 4;
  EXPECT_THROW(make(impossible, age_file, run_key, input_key), InvalidArgument);
  const auto without = new_paraes_message(Preface::for_key(32), input_key, {});
  EXPECT_THROW(static_cast<void>(open_slot(without.header, run_key)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(age_file_of(without.header)), InvalidArgument);
}

TEST(Wrap, HeaderWithWrap_RefusesWhatIsNoHeaderOrPreface) {
  const Sample sample = make_sample(256);
  const auto with_wrap = [&](Bytes header, const Preface& preface) {
    return header_with_wrap(header, preface, sample.wrap);
  };
  EXPECT_EQ(support::difference(with_wrap(sample.header, sample.preface), sample.header), "");
  const Bytes header = sample.header;
  EXPECT_THROW(static_cast<void>(with_wrap(header.first(header.size() - 1), sample.preface)),
               InvalidArgument);
  // As when a caller passes the whole message.
  EXPECT_THROW(static_cast<void>(with_wrap(join(header, Buffer(100)), sample.preface)),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(with_wrap(join(Buffer(1), header), sample.preface)),
               IntegrityError);
  EXPECT_THROW(static_cast<void>(with_wrap({}, sample.preface)), IntegrityError);
  Preface impossible = sample.preface;
  impossible.key_bits = 192;
  EXPECT_THROW(static_cast<void>(with_wrap(header, impossible)), InvalidArgument);
}

// ---- Headers of messages ----

// A message with a plaintext of this many bytes.
Buffer seal_sample(const Sample& sample, std::size_t bytes) {
  const Message message(new_paraes_message(sample.preface, sample.input_key, context, sample.wrap),
                        {});
  return support::sealed_by(message, support::pattern(bytes));
}

TEST(ParaesHeader, OfEveryKdf_IsReadFromFilesAndPipes) {
  const Sample sample = make_sample(256);
  const Buffer with_recipients = seal_sample(sample, 20000);
  Buffer with_key = new_paraes_message(Preface::for_key(32), sample.input_key, {}).header;
  Buffer with_scrypt =
      new_paraes_message(Preface::for_passphrase(256, 4), sample.input_key, {}).header;
  const std::pair<Buffer, std::size_t> cases[] = {
      {with_recipients, paraes_header_bytes + sample.wrap.size()},
      {join(with_key, Buffer(50)), paraes_header_bytes},
      {join(with_scrypt, Buffer(50)), paraes_header_bytes},
      {support::pattern(200, 9), paraes_header_bytes},  // no paraes message
      {support::pattern(20, 9), 20},
      {{}, 0}};
  for (const auto& [message, bytes] : cases) {
    RandomSource file(message);
    EXPECT_EQ(support::difference(read_paraes_header(file), Bytes(message).first(bytes)), "");
    EXPECT_EQ(file.remaining(), message.size() - bytes);
    OrderedSource pipe(message);
    EXPECT_EQ(support::difference(read_paraes_header(pipe), Bytes(message).first(bytes)), "");
  }
}

TEST(ParaesHeader, Truncated_IsShortOrRefusedAtEveryLength) {
  const Sample sample = make_sample(256);
  const Buffer& header = sample.header;
  for (std::size_t n = 0; n < header.size(); ++n) {
    const Buffer part(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(n));
    RandomSource file(part);
    OrderedSource pipe(part);
    if (n < Preface::bytes) {
      EXPECT_EQ(support::difference(read_paraes_header(file), part), "") << n;
      EXPECT_EQ(support::difference(read_paraes_header(pipe), part), "") << n;
    } else {
      EXPECT_TRUE(throws<IntegrityError>(
          [&] { return read_paraes_header(file); },
          n < paraes_header_bytes ? "ends within its header" : "more than are left"))
          << n;
      EXPECT_TRUE(throws<IntegrityError>([&] { return read_paraes_header(pipe); },
                                         "ends within its header"))
          << n;
    }
    EXPECT_THROW(static_cast<void>(open_paraes_message(part, sample.input_key, context)),
                 IntegrityError)
        << n;
  }
}

TEST(ParaesHeader, WrapLongerThanTheFile_IsNotRead) {
  const Sample sample = make_sample(256);
  Buffer message = seal_sample(sample, 1000);
  message[13] = 3;  // 196608 bytes more
  RandomSource file(message);
  EXPECT_THROW(static_cast<void>(read_paraes_header(file)), IntegrityError);
  EXPECT_EQ(file.ranges(),
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, paraes_header_bytes}}));
  OrderedSource pipe(message);
  EXPECT_THROW(static_cast<void>(read_paraes_header(pipe)), IntegrityError);
}

TEST(ParaesHeader, BadPreface_IsRefusedBeforeTheWrapIsRead) {
  Buffer message = seal_sample(make_sample(256), 1000);
  for (const std::size_t at : {8U, 9U, 10U, 11U, 12U, 16U, 31U}) {
    Buffer changed = message;
    changed[at] = 0x77;
    RandomSource file(changed);
    EXPECT_THROW(static_cast<void>(read_paraes_header(file)), IntegrityError) << at;
    EXPECT_EQ(file.remaining(), changed.size() - paraes_header_bytes) << at;
    OrderedSource pipe(changed);
    EXPECT_THROW(static_cast<void>(read_paraes_header(pipe)), IntegrityError) << at;
  }
}

TEST(RecipientsMessage, TwoWraps_OpenTheSameSegments) {
  const Sample first = make_sample(256);
  const Buffer sealed = seal_sample(first, 100000);
  // Another age file, run key and slot.
  const Buffer age_file = make_age_file(ssh_stanza + x25519_stanza + ssh_stanza);
  const Preface preface = Preface::for_recipients(256, age_file.size());
  ASSERT_NE(preface.wrap_bytes, first.preface.wrap_bytes);
  const Buffer other_run_key = support::make_key(32, 20);
  const Buffer wrap = make_wrap(preface, age_file, other_run_key, first.input_key);
  const Bytes c2sp = Bytes(sealed).subspan(Preface::bytes + first.wrap.size());
  const Buffer other = join(join(preface.encode(), wrap), c2sp);
  EXPECT_THROW(static_cast<void>(open_slot(other, run_key)), WrongKey);
  const SecretBytes key = open_slot(other, other_run_key);
  for (const Buffer& message : {other, sealed}) {
    EXPECT_EQ(support::difference(support::opened_with(key.span(), context, message),
                                  support::pattern(100000)),
              "");
  }
}

TEST(RecipientsMessage, WrongKeyContextOrWrap_IsRefused) {
  const Sample sample = make_sample(256);
  const auto secret_of = [&](Bytes key, Bytes given_context) {
    const auto error =
        caught<WrongKey>([&] { return open_paraes_message(sample.header, key, given_context); });
    return error.value().secret();
  };
  EXPECT_EQ(secret_of(support::make_key(32, 30), context), WrongKey::Secret::identity);
  EXPECT_EQ(secret_of(support::make_key(16, 30), context), WrongKey::Secret::identity);
  EXPECT_EQ(secret_of(sample.input_key, {}), WrongKey::Secret::identity);
  // The c2sp message does not open without recipients: the preface is in its context.
  const Bytes c2sp = Bytes(sample.header).last(c2sp_header_bytes);
  EXPECT_THROW(static_cast<void>(open_paraes_message(join(Preface::for_key(32).encode(), c2sp),
                                                     sample.input_key, context)),
               WrongKey);
  for (const std::size_t bytes : {std::size_t{0}, sample.wrap.size() - 1}) {
    EXPECT_THROW(static_cast<void>(new_paraes_message(sample.preface, sample.input_key, context,
                                                      Bytes(sample.wrap).first(bytes))),
                 InvalidArgument);
  }
  EXPECT_THROW(static_cast<void>(new_paraes_message(Preface::for_key(32), sample.input_key, context,
                                                    sample.wrap)),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(
                   open_paraes_message(join(sample.header, Buffer(1)), sample.input_key, context)),
               IntegrityError);
}

}  // namespace
}  // namespace paraes
