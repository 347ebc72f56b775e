// The module paraes._native: the parts of the package that compute.

#include <limits>

#include "paraes/kdf.hpp"
#include "paraes/threads.hpp"
#include "paraes/version.hpp"
#include "python/native/common.hpp"

NB_MODULE(_native, m) {
  using namespace paraes::python;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(
        PyExc_ImportError,
        "paraes does not support subinterpreters: import it in the main interpreter, or "
        "use processes");
    nb::raise_python_error();
  }
#ifdef PARAES_PRIVATE_LIBCRYPTO
  // No other part of the process uses this libcrypto, and the system's openssl.cnf is for another
  // version of it: the modules that it names are not to be loaded.
  paraes::ignore_openssl_configuration();
#endif
  m.doc() = "The compiled part of paraes. Use the package's modules.";
  m.attr("version") = paraes::version();
  bind_errors(m);
  bind_aead(m);
  bind_ciphers(m);
  bind_cobblestone(m);
  bind_messages(m);
  bind_writer(m);
  bind_files(m);
  bind_gpu(m);
  bind_objects(m);
  m.def(
      "limit_threads",
      [](AnyInt most) {
        paraes::limit_threads(number_of(most, "most", 0U, std::numeric_limits<unsigned>::max()));
      },
      nb::arg("most"),
      "Works on at most this many threads from now on, whatever `threads` says; 0: no limit.\n\n"
      "After os.fork() and in the processes of multiprocessing that it starts, the limit is 1.");
  m.def(
      "thread_limit", [] { return paraes::thread_limit(); }, "The limit; 0 if there is none.");
  m.def("after_fork_in_child", after_fork_in_child);
}
