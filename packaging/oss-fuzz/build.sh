#!/bin/bash -eu
# projects/paraes/build.sh of OSS-Fuzz: builds all fuzzers of tests/fuzz into $OUT, with their seeds and the
# shared libraries that the image in which they run lacks. OSS-Fuzz sets CC, CXX, CFLAGS, CXXFLAGS,
# LIB_FUZZING_ENGINE, OUT, SRC and WORK; packaging/oss-fuzz/try does it here.

# GoogleTest and fmt are packages of the distribution, which are compiled with libstdc++.
CFLAGS=${CFLAGS//-stdlib=libc++/}
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
export CFLAGS CXXFLAGS

cmake -S "$SRC/paraes" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DPARAES_BUILD_TESTS=ON -DPARAES_BUILD_MPI=OFF -DPARAES_WERROR=OFF \
  "-DPARAES_FUZZING_ENGINE=$LIB_FUZZING_ENGINE" "-DCMAKE_BUILD_RPATH=\$ORIGIN/lib"
cmake --build "$WORK/build" --target paraes_fuzzers

mkdir -p "$OUT/lib"
for fuzzer in "$WORK"/build/tests/fuzz/paraes_fuzz_*; do
  [[ -f $fuzzer && -x $fuzzer ]] || continue
  cp "$fuzzer" "$OUT/"
  name=${fuzzer##*/paraes_fuzz_}
  seeds=("$SRC/paraes/tests/fuzz/seeds/$name"/*)
  rm -f "$OUT/paraes_fuzz_${name}_seed_corpus.zip"
  python3 -m zipfile -c "$OUT/paraes_fuzz_${name}_seed_corpus.zip" "${seeds[@]}"
  printf '[libfuzzer]\nmax_len = 4096\n' >"$OUT/paraes_fuzz_$name.options"
  # All but those of the C library, which the runner has.
  ldd "$fuzzer" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libpthread|libdl|librt)\.so/ { print $3 }' |
    xargs -r cp -L -t "$OUT/lib"
done
