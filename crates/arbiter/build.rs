//! Exists because `links` needs a build script: it keeps two arbiters out of one build.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
