// Package paraes is a part of the library paraes for Go: messages in memory, and ranges of encrypted files.
// It is an example: add the functions that you need from paraes.h in the same way.
package paraes

/*
#cgo pkg-config: paraes-c
#include <paraes.h>
#include <stdlib.h>
*/
import "C"

import (
	"io"
	"runtime"
	"sync"
	"unsafe"
)

// A Code is a kind of errors: errors.Is(err, paraes.IntegrityError).
type Code int

const (
	InvalidArgument Code = C.PARAES_INVALID_ARGUMENT
	IntegrityError  Code = C.PARAES_INTEGRITY_ERROR
	WrongKey        Code = C.PARAES_WRONG_KEY
	IOError         Code = C.PARAES_IO_ERROR
)

func (kind Code) Error() string { return "paraes: a kind of errors" }

// An Error is what the library says of a call that failed.
type Error struct {
	Code    Code
	Message string
}

func (err *Error) Error() string { return err.Message }

// Is knows the kinds: a damaged segment is an IntegrityError, too.
func (err *Error) Is(target error) bool {
	kind, ok := target.(Code)
	return ok && C.paraes_is_a(C.int(err.Code), C.int(kind)) != 0
}

// ExitStatus is the one with which the command paraes ends after such an error.
func (err *Error) ExitStatus() int { return int(C.paraes_exit_status(C.int(err.Code))) }

// Makes an error of the code of a call. The message belongs to the thread, and Go could continue on another
// one after the call.
func check(call func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if code := call(); code != C.PARAES_OK {
		return &Error{Code(code), C.GoString(C.paraes_error_message())}
	}
	return nil
}

// Stands in for an empty slice, which has no first byte. C gets the size 0.
var nothing = make([]byte, 1)

// The bytes whose address is passed to C. It has to be taken in the call, as &at(b)[0]: cgo then lets C have
// any slice of bytes, even one of an array in a structure with pointers.
func at(b []byte) []byte {
	if len(b) == 0 {
		return nothing
	}
	return b
}

// A Secret is what messages and files are encrypted with. Any number of goroutines may use it at once, but
// not after Close, nor while Close runs.
type Secret struct{ handle *C.paraes_secret }

// NewSecret copies a key of 16 or 32 bytes.
func NewSecret(key []byte) (*Secret, error) {
	secret := new(Secret)
	err := check(func() C.int {
		return C.paraes_secret_from_key(&secret.handle, unsafe.Pointer(&at(key)[0]), C.size_t(len(key)))
	})
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// RandomSecret has a key that nobody else has, not even its caller.
func RandomSecret() (*Secret, error) {
	key := make([]byte, 32)
	defer C.paraes_wipe(unsafe.Pointer(&key[0]), C.size_t(len(key)))
	err := check(func() C.int { return C.paraes_random_key(unsafe.Pointer(&key[0]), C.size_t(len(key))) })
	if err != nil {
		return nil, err
	}
	return NewSecret(key)
}

// SecretFromKeyFile reads a file that `paraes keygen` has written.
func SecretFromKeyFile(path string) (*Secret, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	secret := new(Secret)
	err := check(func() C.int { return C.paraes_secret_from_key_file(&secret.handle, name) })
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// Close overwrites the key. Closing twice is no error.
func (secret *Secret) Close() error {
	C.paraes_secret_free(secret.handle)
	secret.handle = nil
	return nil
}

// Seal encrypts and authenticates.
func (secret *Secret) Seal(plain []byte) ([]byte, error) {
	sealed := make([]byte, C.paraes_seal_bound(secret.handle, C.size_t(len(plain))))
	var written C.size_t
	err := check(func() C.int {
		return C.paraes_seal(secret.handle, unsafe.Pointer(&at(plain)[0]), C.size_t(len(plain)),
			unsafe.Pointer(&at(sealed)[0]), C.size_t(len(sealed)), &written, nil)
	})
	if err != nil {
		return nil, err
	}
	return sealed[:written], nil
}

// Open verifies and decrypts.
func (secret *Secret) Open(sealed []byte) ([]byte, error) {
	plain := make([]byte, len(sealed))
	var written C.size_t
	err := check(func() C.int {
		return C.paraes_unseal(secret.handle, unsafe.Pointer(&at(sealed)[0]), C.size_t(len(sealed)),
			unsafe.Pointer(&at(plain)[0]), C.size_t(len(plain)), &written, nil)
	})
	if err != nil {
		return nil, err
	}
	return plain[:written], nil
}

// A Reader reads the plaintext of an encrypted file, at any offset: an io.ReaderAt, which
// io.NewSectionReader makes an io.Reader and an io.Seeker of.
type Reader struct {
	handle *C.paraes_reader
	// The library lets one caller at a time use it; io.ReaderAt allows many.
	mutex sync.Mutex
}

// OpenFile does not need the secret any more when it has returned.
func OpenFile(path string, secret *Secret) (*Reader, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	reader := new(Reader)
	err := check(func() C.int { return C.paraes_reader_open(&reader.handle, name, secret.handle, nil) })
	if err != nil {
		return nil, err
	}
	return reader, nil
}

// Size is that of the plaintext.
func (reader *Reader) Size() int64 {
	reader.mutex.Lock()
	defer reader.mutex.Unlock()
	return int64(C.paraes_reader_size(reader.handle))
}

// ReadAt authenticates what it reads.
func (reader *Reader) ReadAt(b []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, &Error{InvalidArgument, "the offset is negative"}
	}
	reader.mutex.Lock()
	defer reader.mutex.Unlock()
	var read C.size_t
	err := check(func() C.int {
		return C.paraes_reader_read_at(reader.handle, C.uint64_t(offset), unsafe.Pointer(&at(b)[0]),
			C.size_t(len(b)), &read)
	})
	if err == nil && int(read) < len(b) {
		err = io.EOF
	}
	return int(read), err
}

// Close overwrites the plaintext that it has in memory. Closing twice is no error.
func (reader *Reader) Close() error {
	reader.mutex.Lock()
	defer reader.mutex.Unlock()
	C.paraes_reader_free(reader.handle)
	reader.handle = nil
	return nil
}
