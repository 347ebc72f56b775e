//! Encrypts and decrypts in memory, and reads a range of a file that the command paraes encrypted.
//! Build and run:
//!   paraes keygen -o my.key
//!   seq 100000 > numbers.txt
//!   paraes encrypt -q -k my.key numbers.txt
//!   cargo build --offline
//!   target/debug/paraes_example my.key numbers.txt.paes
use std::io::{Read, Seek, SeekFrom};
use std::process::exit;

use paraes::{Reader, Secret};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn messages() -> paraes::Result<()> {
    let secret = Secret::random()?;
    let mut sealed = secret.seal(b"attack at dawn")?;
    println!("14 bytes, sealed {}", sealed.len());
    println!("as it was: {}", text(secret.unseal(&sealed)?));
    match Secret::random()?.unseal(&sealed) {
        Err(error) if error.is_a(paraes::WRONG_KEY) => println!("wrong key: {error}"),
        other => println!("{other:?}"),
    }
    *sealed.last_mut().unwrap() ^= 1;
    match secret.unseal(&sealed) {
        Err(error) if error.is_a(paraes::INTEGRITY_ERROR) => println!("damaged: {error}"),
        other => println!("{other:?}"),
    }
    Ok(())
}

// A paraes::Error becomes a std::io::Error, because reading has those.
fn range(key_file: &str, file: &str) -> std::io::Result<()> {
    let mut reader = Reader::open(file, &Secret::from_key_file(key_file)?)?;
    let size = reader.seek(SeekFrom::End(0))?;
    println!("{size} bytes; from byte 500000 on:");
    let mut range = vec![0; 17];
    reader.seek(SeekFrom::Start(500_000))?;
    reader.read_exact(&mut range)?;
    println!("{}", text(range));
    Ok(())
}

fn run(key_file: &str, file: &str) -> std::io::Result<()> {
    messages()?;
    range(key_file, file)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: {} KEY-FILE FILE", arguments[0]);
        exit(2);
    }
    if let Err(error) = run(&arguments[1], &arguments[2]) {
        eprintln!("{error}");
        let cause = error
            .get_ref()
            .and_then(|cause| cause.downcast_ref::<paraes::Error>());
        exit(cause.map_or(1, paraes::Error::exit_status));
    }
}
