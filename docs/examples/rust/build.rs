//! Tells the linker where pkg-config finds the library, which needs no crate.
use std::process::Command;

fn main() {
    let output = Command::new("pkg-config")
        .args(["--print-errors", "--variable=libdir", "paraes-c"])
        .output()
        .expect("pkg-config cannot be run");
    if !output.status.success() {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let folder = String::from_utf8(output.stdout).expect("the folder of the library is not UTF-8");
    // pkg-config puts backslashes before spaces.
    let folder = folder.trim().replace('\\', "");
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=paraes-c");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
}
