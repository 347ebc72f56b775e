"""The mutations of run, and the layers of paraes with their tests.

`tests` and `ci` are regular expressions of ctest's names (-R); what tests/tiers.bash leaves to
later tiers is left out of the first. They name folders and suites and fit older names, too, which
have one test for each case of a suite. `targets` are what these tests need built.

A change after which the program does the same is no fault. One that shows only on some machines
needs a test that makes this one look like them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A part of paraes, and which tests look for faults in it."""

    tests: str  # of the first tier; "" if it has none
    targets: str
    ci: str = ""  # what else ci runs for it
    ci_targets: str = ""


@dataclass(frozen=True)
class Mutation:
    """A fault: `old`, which is in the file exactly once, becomes `new`."""

    part: int
    name: str
    layer: str
    file: str
    old: str
    new: str
    harm: str  # what a user would suffer
    tier: str = "test"  # that has to find it: test, or ci for at most three


UNIT = "paraes_unit paraes_serializer paraes_inputs paraes_zeroise paraes_failing_memory_test"
PRELOADED = ("paraes_another_host paraes_failing_memory paraes_fake_nvrtc paraes_few_threads "
             "paraes_no_tmpfile paraes_observable paraes_opencl_shim paraes_short_io "
             "paraes_fake_libcuda_so_1 paraes_fake_libamdhip64_so_7")
COMMAND = f"paraes_cli paraes_seal_parts {PRELOADED}"

LAYERS = {
    "kernels": Layer(
        tests="^(unit|conformance|differential|dispatch)[.]",
        targets=f"{UNIT} paraes_conformance paraes_differential paraes_dispatch",
        ci="^limits[.]", ci_targets="paraes_limits"),
    "library": Layer(
        tests="^unit[.]", targets=UNIT,
        ci="^limits[.]", ci_targets="paraes_limits"),
    "arithmetic": Layer(
        tests="^(unit|proofs)[.]", targets=f"{UNIT} paraes_proofs",
        ci="^limits[.]", ci_targets="paraes_limits"),
    "timing": Layer(
        tests="^unit[.]", targets=UNIT,
        ci="^ct[.]O2[.].*Secret", ci_targets="paraes_ct_O2"),
    "secrets": Layer(
        tests="^(unit|secrets)[.]",
        targets=f"{UNIT} {COMMAND} paraes_python paraes_salts paraes_find_needles "
                "paraes_stop_at_write paraes_plant paraes_library_work"),
    "files": Layer(tests="^(unit|faults)[.]", targets=f"{UNIT} {COMMAND}"),
    "command": Layer(tests="^(cli|faults)[.]", targets=COMMAND),
    "profile": Layer(tests="^unit[.]|^cli[.]tune", targets=f"{UNIT} {COMMAND}"),
    "documents": Layer(
        tests="^(docs|manual)[.]",
        targets=f"{COMMAND} paraes paraes_shared paraes_openmp paraes_mpi paraes_pages "
                "paraes_python"),
    "gpu": Layer(
        tests="^gpu[.]",
        targets="paraes_gpu_modes paraes_gpu_many paraes_gpu_launches paraes_gpu_staging "
                "paraes_gpu_pair paraes_gpu_device_ciphers paraes_gpu_compilers "
                "paraes_gpu_programs paraes_gpu_fallback paraes_gpu_buffers paraes_gpu_events "
                "paraes_gpu_opencl paraes_gpu_libraries paraes_gpu_runtime"),
    "python": Layer(tests="^python[.]", targets=f"{COMMAND} paraes_python"),
    "mpi": Layer(
        tests="^(unit|mpi)[.]",
        targets=f"{UNIT} {COMMAND} paraes_mpi paraes_reseal paraes_command_memory"),
    "bench": Layer(
        tests="", targets="",
        ci="^bench[.](Measure|Report|Statistics|Table)", ci_targets="paraes_bench_tests"),
    "lab": Layer(
        tests="", targets="",
        ci="^lab[.](claims|compare|statistics)$",
        ci_targets="paraes_python paraes_cli"),
}

MUTATIONS = [
    # ---- Kernels, modes, the selection of kernels
    Mutation(
        1, "bitslice-counter-carry", "kernels", "src/kernels/bitslice/bitslice.inc",
        "    store_be128(to + 16 * i, high + (sum < low ? 1 : 0), sum);",
        "    store_be128(to + 16 * i, high, sum);",
        "CTR with the bitslice kernels repeats a part of the key stream where the counter's low "
        "half wraps within a batch"),
    Mutation(
        1, "gcm-counter-carry", "kernels", "src/kernels/vector/gcm.inc",
        "      numbers = add32(numbers, step);",
        "      numbers = add64(numbers, step);",
        "short messages under nonces of other lengths than 12 bytes are encrypted wrongly if their "
        "counter wraps"),
    Mutation(
        1, "xts-last-unit", "kernels", "src/modes/xts.cpp",
        "  } else if (rest < 16) {", "  } else if (rest <= 16) {",
        "XTS joins a last data unit of 16 bytes to the one before it: other programs cannot read "
        "them"),
    Mutation(
        1, "join-hashes-factor", "kernels", "src/modes/gcm.cpp",
        "    if (range.blocks != blocks) {", "    if (blocks == 0) {",
        "the tag of a GCM message that threads share is wrong if their ranges differ in length"),
    Mutation(
        1, "vaes256-needs", "kernels", "src/kernels/x86/vaes256.cpp",
        "CpuFeature::vaes, CpuFeature::vpclmulqdq),", "CpuFeature::vaes),",
        "paraes crashes on processors and virtual machines that have VAES but not VPCLMULQDQ"),
    Mutation(
        1, "tag-early-exit", "timing", "src/core/secret.cpp",
        "    difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);",
        "    difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);\n"
        "    if (difference != 0) return false;",
        "the time of a refusal tells an attacker how many bytes of a forged tag are right",
        tier="ci"),
    Mutation(
        1, "profile-leaky", "profile", "cli/plan/profile.cpp",
        "(on_gpu && allow_leaky)", "(on_gpu || allow_leaky)",
        "a profile makes paraes use GPU kernels that leak the key through caches, without being "
        "allowed to"),
    Mutation(
        1, "documented-option", "documents", "cli/arguments/flags.cpp",
        'row<O>("--exclude",', 'row<O>("--skip",',
        "commands from the documents fail"),
    # ---- Messages, memory, threads, secrets
    Mutation(
        2, "short-commitment", "library", "src/messages/c2sp.cpp",
        "Bytes(derived.span()).last(commitment_bytes),\n"
        "                           header.last(commitment_bytes))",
        "Bytes(derived.span()).last(16),\n"
        "                           header.last(16))",
        "a message can be made that two keys open"),
    Mutation(
        2, "salvage-missing-end", "library", "src/messages/salvage.cpp",
        "  return range.bytes != 0 && before.offset + before.bytes == range.offset;",
        "  return before.offset + before.bytes == range.offset;",
        "--salvage does not say that the end of a file is missing if damage precedes it"),
    Mutation(
        2, "reseal-damaged", "library", "src/messages/reseal.cpp",
        "    if (to_ == nullptr || first_bad(buffers.segments) != nullptr) return;",
        "    if (to_ == nullptr) return;",
        "rekey turns damaged segments into authentic ones"),
    Mutation(
        2, "fork-keeps-locks", "library", "src/core/locked_memory.cpp",
        "    for (Arena& arena : arenas_) arena.forget_locks();  // a child inherits none\n", "",
        "keys of a forked process can be written to the swap space"),
    Mutation(
        2, "moved-secret", "library", "src/core/secret.cpp",
        "    free_locked(data_, capacity_);\n    data_ =",
        "    free_locked(data_, size_);\n    data_ =",
        "locked memory that a truncated secret used is never given back, until there is none left"),
    Mutation(
        2, "failed-turn", "library", "src/core/workers.cpp",
        "  for (std::condition_variable& changed : changed_) changed.notify_all();",
        "  changed_of(number + 1).notify_all();",
        "after a failed read or write, paraes waits for ever"),
    Mutation(
        2, "hkdf-leftover", "secrets", "src/core/hkdf.cpp",
        "  secure_zero(prk.data(), prk.size());\n", "",
        "what all keys of a message can be derived from stays in memory"),
    # ---- GPU
    Mutation(
        2, "ghash-barrier", "gpu", "src/gpu/device/ghash.cl",
        "      share(sums + 4 * t, sum);\n    }\n    PARAES_BARRIER();\n",
        "      share(sums + 4 * t, sum);\n    }\n",
        "tags that a GPU computes are wrong, depending on how its threads run"),
    # ---- Segments
    Mutation(
        3, "segment-number-width", "arithmetic", "src/messages/segment_arithmetic.hpp",
        "plain_offset(sizes, index) + index * tag_bytes",
        "plain_offset(sizes, index) + static_cast<std::uint32_t>(index) * tag_bytes",
        "segments of a message of more than 64 TiB overwrite earlier ones"),
    Mutation(
        4, "segment-nonce-width", "arithmetic", "src/cipher/segment_nonce.hpp",
        "const std::uint32_t high = static_cast<std::uint32_t>(index >> 32);",
        "const std::uint32_t high = 0;",
        "a message of more than 64 TiB uses nonces twice"),
    # ---- Files and the command
    Mutation(
        3, "short-copy", "files", "src/io/sink.cpp",
        "system::copy_range(from.descriptor_.get(), begin + done,",
        "system::copy_range(from.descriptor_.get(), begin,",
        "rekey destroys files if the system copies a part of a range"),
    Mutation(
        3, "unsynced-output", "files", "src/io/sink.cpp",
        "  if (!system::sync_to_disk(file) && !system::is_unimplemented(errno)) {\n"
        '    calls::fail("sync", shown_, errno);\n  }\n',
        "",
        "a power failure after --rm loses input and output"),
    Mutation(
        3, "rm-changed", "command", "cli/files/removal.cpp",
        "    if (!(now == committed.input)) return not_removed(\"it was written to after it was "
        "read\");\n", "",
        "--rm removes a file that another program has written to after it was encrypted"),
    Mutation(
        3, "salvage-exit", "command", "cli/run/file_task.cpp",
        "  report.exit = exit_some_failed;\n", "",
        "scripts take a salvaged file with holes for a whole one"),
    Mutation(
        3, "found-temporary", "command", "cli/files/inputs.cpp",
        "    if (is_temporary_name(name)) return Skip::temporary;\n", "",
        "-r encrypts the unfinished output of another run"),
    Mutation(
        3, "unconfirmed-passphrase", "command", "cli/secrets/passphrase.cpp",
        "  const bool confirm = is_other || sources.role == KeyRole::seal;",
        "  const bool confirm = sources.role == KeyRole::seal;",
        "a mistyped new passphrase locks the user out of a rekeyed file"),
    Mutation(
        3, "rekey-keeps-key", "command", "cli/run/rekey_task.cpp",
        "  if (from_recipients && to_recipients && !run.plan.new_key) {",
        "  if (from_recipients && to_recipients) {",
        "rekey --new-key leaves the data under the key that a former recipient knows"),
    # ---- GPU, Python, MPI, measurements
    Mutation(
        4, "second-key-slot", "gpu", "src/gpu/key_slots.cpp",
        "  key.keys = &schedules_[1].read();", "  key.keys = &schedules_[0].read();",
        "XTS on a GPU encrypts the tweaks of few data units with the key of the data"),
    Mutation(
        4, "fallback-counter", "gpu", "src/cipher/fallback.cpp",
        "static_cast<std::uint32_t>(1 + from / 16)", "static_cast<std::uint32_t>(from / 16)",
        "if a GPU fails, what the CPU encrypts instead cannot be decrypted"),
    Mutation(
        4, "stream-leak", "gpu", "src/gpu/runtime/driver_queue.cpp",
        "      static_cast<void>(device.api().destroy_stream.function(stream_));\n", "",
        "a process that tries a busy GPU again and again uses up its streams"),
    Mutation(
        4, "python-buffer", "python", "python/native/aead.cpp",
        "buffer_.emplace(object, name);\n  }\n"
        "  [[nodiscard]] Bytes bytes() const noexcept { return buffer_ ? buffer_->bytes() : "
        "Bytes(); }\n\n private:\n  std::optional<Buffer> buffer_;\n",
        "buffer_ = new Buffer(object, name);\n  }\n"
        "  [[nodiscard]] Bytes bytes() const noexcept { return buffer_ ? buffer_->bytes() : "
        "Bytes(); }\n\n private:\n  const Buffer* buffer_ = nullptr;\n",
        "calls with associated data leak its buffer, and a bytearray can no longer be resized"),
    Mutation(
        4, "mpi-verdict", "mpi", "mpi/chunks.hpp",
        "    segments[i].intact = result.intact[i] != 0;", "    segments[i].intact = true;",
        "paraes-mpi accepts damaged segments that another rank has refused"),
    Mutation(
        4, "bench-interval", "bench", "bench/harness/statistics.cpp",
        "    if (2 * below > 0.05) break;", "    if (below > 0.05) break;",
        "bench reports intervals of 90 % as those of 95 %", tier="ci"),
    Mutation(
        4, "lab-interval", "lab", "python/paraes/lab/statistics.py",
        "NormalDist().inv_cdf(1 - alpha / 2)", "NormalDist().inv_cdf(1 - alpha)",
        "the laboratory calls differences significant that are not", tier="ci"),
]
