// Turns exceptions of the library into those of paraes.exceptions.

#include <cerrno>
#include <new>

#include "python/native/common.hpp"

namespace paraes::python {
namespace {

// A reference that is never released: the module cannot be unloaded.
PyObject* exceptions = nullptr;

// Names of files need not be UTF-8.
nb::object text_of(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

nb::object make(const char* name, const std::string& text) {
  return nb::borrow(exceptions).attr(name)(text_of(text));
}

nb::object file_error(int code, const char* text, const std::string& path) {
  return nb::borrow(exceptions).attr("_file_error")(code, text_of(text), text_of(path));
}

void set(const nb::object& error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(const std::exception_ptr& pending, void*) {
  try {
    std::rethrow_exception(pending);
  } catch (const BadSegment& error) {
    const nb::object made = make("IntegrityError", error.what());
    made.attr("segment") = error.segment();
    made.attr("offset") = error.plain_offset();
    set(made);
  } catch (const IntegrityError& error) {
    set(make("IntegrityError", error.what()));
  } catch (const WrongKey& error) {
    set(make("WrongKey", error.what()));
  } catch (const IoError& error) {
    set(file_error(error.code(), error.what(), error.path()));
  } catch (const TargetExists& error) {
    set(file_error(EEXIST, error.what(), error.path()));
  } catch (const InvalidArgument& error) {
    set(make("InvalidArgument", error.what()));
  } catch (const Unavailable& error) {
    set(make("Unavailable", error.what()));
  } catch (const WrongProcess& error) {
    set(make("WrongProcess", error.what()));
  } catch (const DeviceError& error) {
    set(make("DeviceError", error.what()));
  } catch (const Error& error) {
    set(make("Error", error.what()));
  }
}

}  // namespace

void raise(const char* name, const std::string& text) {
  set(make(name, text));
  nb::raise_python_error();
}

void bind_errors(nb::module_&) {
  exceptions = nb::module_::import_("paraes.exceptions").release().ptr();
  nb::register_exception_translator(translate, nullptr);
}

}  // namespace paraes::python
