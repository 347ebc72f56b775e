//! A part of paraes for Rust: messages in memory, and ranges of encrypted files.
//! It is an example: add the functions that you need from paraes.h in the same way.
use std::ffi::{CStr, CString};
use std::fmt;
use std::io::{self, SeekFrom};
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

// What is used of paraes.h. Pointers to bytes are those of slices. One parameter a line, as rustfmt
// would have it, is too much here.
#[repr(C)]
struct CSecret([u8; 0]);
#[repr(C)]
struct CReader([u8; 0]);
#[repr(C)]
struct Execution([u8; 0]); // always NULL here
#[rustfmt::skip]
extern "C" {
    fn paraes_error_message() -> *const c_char;
    fn paraes_is_a(code: c_int, base: c_int) -> c_int;
    fn paraes_exit_status(code: c_int) -> c_int;

    fn paraes_random_key(key: *mut u8, bytes: usize) -> c_int;
    fn paraes_wipe(data: *mut u8, bytes: usize);

    fn paraes_secret_from_key(secret: *mut *mut CSecret, key: *const u8, bytes: usize) -> c_int;
    fn paraes_secret_from_key_file(secret: *mut *mut CSecret, path: *const c_char) -> c_int;
    fn paraes_secret_free(secret: *mut CSecret);
    fn paraes_seal_bound(secret: *const CSecret, bytes: usize) -> usize;
    fn paraes_seal(
        secret: *const CSecret, input: *const u8, bytes: usize,
        out: *mut u8, capacity: usize, written: *mut usize, execution: *const Execution,
    ) -> c_int;
    fn paraes_unseal(
        secret: *const CSecret, input: *const u8, bytes: usize,
        out: *mut u8, capacity: usize, written: *mut usize, execution: *const Execution,
    ) -> c_int;

    fn paraes_reader_open(
        reader: *mut *mut CReader, file: *const c_char, secret: *const CSecret,
        execution: *const Execution,
    ) -> c_int;
    fn paraes_reader_read(
        reader: *mut CReader, out: *mut u8, bytes: usize, read: *mut usize,
    ) -> c_int;
    fn paraes_reader_seek(
        reader: *mut CReader, offset: i64, whence: c_int, position: *mut u64,
    ) -> c_int;
    fn paraes_reader_free(reader: *mut CReader);
}

/// Codes of paraes.h, for `Error::is_a`.
pub const INTEGRITY_ERROR: i32 = 13;
pub const WRONG_KEY: i32 = 16;

#[derive(Debug)]
pub struct Error {
    pub code: i32,
    pub message: String,
}

impl Error {
    /// Whether it is of a kind: a damaged segment is an INTEGRITY_ERROR, too.
    pub fn is_a(&self, kind: i32) -> bool {
        unsafe { paraes_is_a(self.code, kind) != 0 }
    }

    /// With what the command paraes ends after such an error.
    pub fn exit_status(&self) -> i32 {
        unsafe { paraes_exit_status(self.code) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `io::Error::get_ref` gives the first error back.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::new(io::ErrorKind::Other, error)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// The message belongs to the thread, so that this must follow the call at once.
fn check(code: i32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(paraes_error_message()) };
    let message = message.to_string_lossy().into_owned();
    Err(Error { code, message })
}

/// What messages and files are encrypted with.
pub struct Secret(*mut CSecret);

// Any thread may use it, and any number of them at once.
unsafe impl Send for Secret {}
unsafe impl Sync for Secret {}

impl Secret {
    /// The library has the only copy of the key.
    pub fn random() -> Result<Self> {
        let mut key = [0; 32];
        let made = check(unsafe { paraes_random_key(key.as_mut_ptr(), key.len()) })
            .and_then(|_| Self::from_key(&key));
        unsafe { paraes_wipe(key.as_mut_ptr(), key.len()) };
        made
    }

    pub fn from_key(key: &[u8]) -> Result<Self> {
        let mut secret = null_mut();
        check(unsafe { paraes_secret_from_key(&mut secret, key.as_ptr(), key.len()) })?;
        Ok(Self(secret))
    }

    pub fn from_key_file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
        let mut secret = null_mut();
        check(unsafe { paraes_secret_from_key_file(&mut secret, path.as_ptr()) })?;
        Ok(Self(secret))
    }

    pub fn seal(&self, plain: &[u8]) -> Result<Vec<u8>> {
        let (input, bytes, mut written) = (plain.as_ptr(), plain.len(), 0);
        let bound = unsafe { paraes_seal_bound(self.0, bytes) };
        let mut sealed = vec![0; bound];
        let out = sealed.as_mut_ptr();
        let code = unsafe { paraes_seal(self.0, input, bytes, out, bound, &mut written, null()) };
        check(code)?;
        sealed.truncate(written);
        Ok(sealed)
    }

    pub fn unseal(&self, sealed: &[u8]) -> Result<Vec<u8>> {
        let (input, bytes, mut written) = (sealed.as_ptr(), sealed.len(), 0);
        let mut plain = vec![0; bytes];
        let out = plain.as_mut_ptr();
        let code = unsafe { paraes_unseal(self.0, input, bytes, out, bytes, &mut written, null()) };
        check(code)?;
        plain.truncate(written);
        Ok(plain)
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        unsafe { paraes_secret_free(self.0) }
    }
}

/// The plaintext of an encrypted file, at any offset.
pub struct Reader(*mut CReader);

// Any thread may use it, but one at a time: all methods take `&mut self`.
unsafe impl Send for Reader {}

impl Reader {
    pub fn open(path: impl AsRef<Path>, secret: &Secret) -> io::Result<Self> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
        let mut reader = null_mut();
        check(unsafe { paraes_reader_open(&mut reader, path.as_ptr(), secret.0, null()) })?;
        Ok(Self(reader))
    }
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        check(unsafe { paraes_reader_read(self.0, buffer.as_mut_ptr(), buffer.len(), &mut read) })?;
        Ok(read)
    }
}

impl io::Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match to {
            // An offset beyond an i64 becomes negative, which the library refuses.
            SeekFrom::Start(offset) => (offset as i64, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        let mut position = 0;
        check(unsafe { paraes_reader_seek(self.0, offset, whence, &mut position) })?;
        Ok(position)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        unsafe { paraes_reader_free(self.0) }
    }
}
