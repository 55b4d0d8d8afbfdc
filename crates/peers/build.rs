//! Compiles the C++ side of the peers, and nothing unless the feature `peers-cxx` asks for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "peers-cxx")]
    cxx();
}

#[cfg(feature = "peers-cxx")]
fn cxx() {
    const SHIM: &str = "cxx/shim.cc";
    println!("cargo::rerun-if-changed={SHIM}");
    // What a C++ user's release build has; the shim is all there is to inline.
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).define("NDEBUG", None).file(SHIM);
    // The shim must come before the libraries it needs on the linker's command line.
    let mut libraries = Vec::new();
    for package in ["absl_synchronization", "tbb"] {
        match pkg_config::Config::new().cargo_metadata(false).probe(package) {
            Ok(library) => libraries.push(library),
            Err(error) => fail(&format!("{package}: {error}")),
        }
    }
    for library in &libraries {
        build.includes(&library.include_paths);
    }
    if let Err(error) = build.try_compile("lockwright_peers_shim") {
        fail(&error.to_string());
    }
    for library in &libraries {
        for path in &library.link_paths {
            println!("cargo::rustc-link-search=native={}", path.display());
        }
        for name in &library.libs {
            println!("cargo::rustc-link-lib={name}");
        }
    }
    // nsync ships no pkg-config file.
    println!("cargo::rustc-link-lib=nsync");
}

#[cfg(feature = "peers-cxx")]
fn fail(why: &str) -> ! {
    println!(
        "cargo::error=the feature peers-cxx needs a C++17 compiler and the packages \
         libabsl-dev, libnsync-dev and libtbb-dev: {}",
        why.replace('\n', " ")
    );
    std::process::exit(1);
}
