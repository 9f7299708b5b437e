//! Compiles the amalgamation of `sqlite3mc-src`.

const FLAGS: &[&str] = &[
    // As libsqlite3-sys builds SQLite, without what this program does not use.
    "SQLITE_CORE",
    "SQLITE_DEFAULT_FOREIGN_KEYS=1",
    "SQLITE_ENABLE_API_ARMOR",
    "SQLITE_ENABLE_FTS5",
    "SQLITE_ENABLE_STAT4",
    "SQLITE_THREADSAFE=1",
    "SQLITE_USE_URI",
    "HAVE_USLEEP=1",
    "HAVE_ISNAN",
    "HAVE_LOCALTIME_R",
    "_POSIX_THREAD_SAFE_FUNCTIONS",
    // A page cache of its own for each connection (with `SQLITE_ENABLE_MEMORY_MANAGEMENT` all take one lock at every
    // page), its first pages in one allocation, and no statistics of every allocation.
    "SQLITE_DEFAULT_MEMSTATUS=0",
    "SQLITE_DEFAULT_PCACHE_INITSZ=1500",
    // Sorting and VACUUM leave no text in temporary files.
    "SQLITE_TEMP_STORE=2",
    "CODEC_TYPE=CODEC_TYPE_AEGIS",
    "HAVE_CIPHER_AEGIS=1",
    "HAVE_CIPHER_AES_128_CBC=0",
    "HAVE_CIPHER_AES_256_CBC=0",
    "HAVE_CIPHER_ASCON128=0",
    "HAVE_CIPHER_CHACHA20=0",
    "HAVE_CIPHER_RC4=0",
    "HAVE_CIPHER_SQLCIPHER=0",
];

fn main() {
    let source = sqlite3mc_src::source_dir().join(sqlite3mc_src::SOURCE_FILE);
    let mut build = cc::Build::new();
    build.file(&source).include(sqlite3mc_src::source_dir()).opt_level(2).warnings(false);
    for flag in FLAGS {
        let (name, value) = flag.split_once('=').map_or((*flag, None), |(n, v)| (n, Some(v)));
        build.define(name, value);
    }
    // rusqlite's bindings come from another crate, so nothing here refers to what they need.
    build.link_lib_modifier("+whole-archive");
    build.compile("encrypted_sqlite");
    println!("cargo:rerun-if-changed=build.rs");
}
