// Which names the shared library exports.
#pragma once

// Marks a class or function as a part of the interface. The shared library exports it, and hides
// everything that is not marked. Exceptions and classes with virtual functions need it as well: a
// program and the library thereby agree on their types, so that a program catches what the library
// throws.
#define PARAES_EXPORT [[gnu::visibility("default")]]

// For a private class within one that is marked.
#define PARAES_HIDDEN [[gnu::visibility("hidden")]]
