# ccache as the compiler's launcher: options for CMake in `compiler_cache`. Sourced with the source
# tree as working folder.
# shellcheck shell=bash disable=SC2034 # a variable of the scripts that source this

# Two build folders compile the library with the same flags, and ccache compiles it once. It takes the
# dependencies from the compiler, which is faster than to preprocess each file first. Its folder is
# named in the launcher, so that builds by hand use the same one.
compiler_cache=(-DCMAKE_CXX_COMPILER_LAUNCHER=)
if command -v ccache >/dev/null; then
  compiler_cache[0]+="env;CCACHE_DIR=$PWD/build/ccache;CCACHE_BASEDIR=$PWD;CCACHE_DEPEND=1;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
fi
