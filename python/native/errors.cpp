// Turns exceptions of the library into those of paraes.exceptions.

#include <cerrno>
#include <utility>

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

// The exception of paraes.exceptions for a kind.
const char* name_of(ErrorKind kind) {
  constexpr std::pair<ErrorKind, const char*> names[] = {
      {ErrorKind::integrity_error, "IntegrityError"},   {ErrorKind::wrong_key, "WrongKey"},
      {ErrorKind::invalid_argument, "InvalidArgument"}, {ErrorKind::unavailable, "Unavailable"},
      {ErrorKind::wrong_process, "WrongProcess"},       {ErrorKind::device_error, "DeviceError"},
  };
  for (const auto& [base, name] : names) {
    if (is_a(kind, base)) return name;
  }
  return "Error";
}

void translate(const std::exception_ptr& pending, void*) {
  try {
    std::rethrow_exception(pending);
  } catch (const BadSegment& error) {
    const nb::object made = make("IntegrityError", error.what());
    made.attr("segment") = error.segment();
    made.attr("offset") = error.plain_offset();
    set(made);
  } catch (const IoError& error) {
    set(file_error(error.code(), error.what(), error.path()));
  } catch (const TargetExists& error) {
    set(file_error(EEXIST, error.what(), error.path()));
  } catch (const Error& error) {
    set(make(name_of(error_kind(error)), error.what()));
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
