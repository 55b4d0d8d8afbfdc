//! The header that is checked in is the one that cbindgen makes of the sources.
#![cfg(not(any(loom, miri)))]

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let made = cbindgen::Builder::new().with_crate(root).with_config(config).generate();
    let mut text = Vec::new();
    made.expect("cbindgen reads the sources").write(&mut text);
    let text = String::from_utf8(text).expect("a header is text");
    let file = root.join("include/lockwright.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &text).expect("the header is written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let different = kept.lines().zip(text.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == text,
        "include/lockwright.h is not what the sources make, first {different:?}: \
         run BLESS=1 cargo test -p lockwright-capi --test header"
    );
}
