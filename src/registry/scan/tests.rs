//! Folders as other programs leave them, and as nobody should.

#![cfg(unix)]

use std::os::unix::fs::symlink;

use super::*;

struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// A file, with the folders that it needs.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn link(&self, target: &str, path: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        symlink(target, self.path(path)).unwrap();
    }

    fn place(&self, program: &'static str, dir: &str, layout: Layout) -> Place {
        Place { program, dir: self.path(dir), layout }
    }

    /// A model of Ollama.
    fn ollama(&self, manifest: &str, digest: &str) {
        let manifest = self.path("ollama/manifests").join(manifest);
        fs::create_dir_all(manifest.parent().unwrap()).unwrap();
        let layer = |kind: &str, digest: &str| serde_json::json!({"mediaType": format!("application/vnd.ollama.image.{kind}"), "digest": digest, "size": 9});
        let layers = [layer("model", digest), layer("license", "sha256:00")];
        let text = serde_json::json!({"schemaVersion": 2, "config": {}, "layers": layers});
        fs::write(manifest, text.to_string()).unwrap();
    }

    /// (name, path) of what is found, and the remarks.
    fn scan(&self, places: &[Place]) -> (Vec<(String, String)>, Vec<String>) {
        let findings = scan(places, ["taken".to_owned()].into_iter());
        let shown = |path: &Path| path.strip_prefix(self.0.path()).unwrap().display().to_string();
        let files = findings.files.iter().map(|f| (f.name.clone(), shown(&f.path)));
        (files.collect(), findings.remarks)
    }
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect()
}

fn hash_of(digit: char) -> String {
    digit.to_string().repeat(64)
}

#[test]
fn ollamas_manifests_name_their_blobs() {
    let disk = Disk::new();
    let [a, b] = ['a', 'b'].map(hash_of);
    disk.write(&format!("ollama/blobs/sha256-{a}"), "GGUF one");
    disk.write(&format!("ollama/blobs/sha256-{b}"), "GGUF two");
    disk.ollama("registry.ollama.ai/library/llama3.2/3b", &format!("sha256:{a}"));
    disk.ollama("registry.ollama.ai/library/qwen3/latest", &format!("sha256:{b}"));
    // Another name of the same blob is no other model.
    disk.ollama("registry.ollama.ai/library/zephyr/copy", &format!("sha256:{a}"));
    let places = [disk.place("Ollama", "ollama", Layout::Ollama)];
    let (found, remarks) = disk.scan(&places);
    assert_eq!(
        found,
        pairs(&[
            ("llama3.2-3b", &format!("ollama/blobs/sha256-{a}")),
            ("qwen3", &format!("ollama/blobs/sha256-{b}")),
        ])
    );
    assert_eq!(remarks, Vec::<String>::new());
    assert_eq!(scan(&places, std::iter::empty()).files[0].sha256.as_deref(), Some(a.as_str()));
}

#[test]
fn a_manifest_cannot_point_outside() {
    let disk = Disk::new();
    let secret = disk.write("secret", "GGUF");
    let hash = hash_of('a');
    for (i, digest) in [
        "sha256:../../secret".to_owned(),
        format!("sha256:{}", secret.display()),
        format!("sha256:{}", &hash[1..]),
        format!("sha256:{}/", &hash[1..]),
        format!("sha512:{hash}"),
        format!("sha256:{}", hash.to_uppercase()),
        String::new(),
    ]
    .iter()
    .enumerate()
    {
        disk.ollama(&format!("registry.ollama.ai/library/evil/{i}"), digest);
    }
    for (i, text) in
        ["", "null", "{\"layers\": 3}", "[[[[", "{\"layers\": [{}]}"].iter().enumerate()
    {
        disk.write(&format!("ollama/manifests/registry.ollama.ai/library/bad/{i}"), text);
    }
    let huge = "[".repeat(2 << 20);
    disk.write("ollama/manifests/registry.ollama.ai/library/bad/huge", huge);
    let (found, remarks) = disk.scan(&[disk.place("Ollama", "ollama", Layout::Ollama)]);
    assert_eq!((found, remarks), (Vec::new(), Vec::new()));
}

#[test]
fn trees_are_walked_and_what_is_no_model_is_left() {
    let disk = Disk::new();
    for (path, content) in [
        ("lm/owner/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf", "GGUF 1"),
        ("lm/owner/Qwen3-4B-GGUF/mmproj-Qwen3.gguf", "GGUF 2"),
        ("lm/owner/Qwen3-4B-GGUF/imatrix.gguf", "GGUF 3"),
        ("lm/owner/text.gguf", "a text"),
        ("lm/owner/short.gguf", "GG"),
        ("lm/owner/model.safetensors", "GGUF"),
        ("lm/TAKEN.GGUF", "GGUF 4"),
        ("jan/some model/model.gguf", "GGUF 5"),
        ("jan/other/model.gguf", "GGUF 6"),
    ] {
        disk.write(path, content);
    }
    fs::create_dir(disk.path("lm/owner/folder.gguf")).unwrap();
    let places =
        [disk.place("LM Studio", "lm", Layout::Tree), disk.place("Jan", "jan", Layout::Tree)];
    assert_eq!(
        disk.scan(&places).0,
        pairs(&[
            ("other", "jan/other/model.gguf"),
            ("some-model", "jan/some model/model.gguf"),
            ("taken-2", "lm/TAKEN.GGUF"),
            ("qwen3-4b-q4_k_m", "lm/owner/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf"),
        ])
    );
}

#[test]
fn snapshots_of_the_hub_are_found_once_and_named_by_their_hash() {
    let disk = Disk::new();
    let hash = hash_of('c');
    disk.write(&format!("hub/models--o--m/blobs/{hash}"), "GGUF");
    for commit in ["1111", "2222"] {
        let path = format!("hub/models--o--m/snapshots/{commit}/M-Q8_0.gguf");
        disk.link(&format!("../../blobs/{hash}"), &path);
    }
    disk.write("hub/models--o--m/snapshots/2222/sub/small.gguf", "GGUF");
    disk.write("hub/datasets--o--m/snapshots/1111/data.gguf", "GGUF");
    let places = [disk.place("Hugging Face", "hub", Layout::HubCache)];
    let findings = scan(&places, std::iter::empty());
    let found: Vec<_> =
        findings.files.iter().map(|f| (f.name.as_str(), f.sha256.clone())).collect();
    assert_eq!(found, [("m-q8_0", Some(hash)), ("small", None)]);
}

#[test]
fn loops_pipes_and_links_end() {
    let disk = Disk::new();
    disk.write("elsewhere/real.gguf", "GGUF");
    disk.link("..", "lm/a/up");
    disk.link("self.gguf", "lm/a/self.gguf");
    disk.link("nowhere", "lm/a/dangling.gguf");
    disk.link("/dev/zero", "lm/a/zero.gguf");
    disk.link(&disk.path("elsewhere").display().to_string(), "lm/a/disk");
    disk.link(&disk.path("elsewhere/real.gguf").display().to_string(), "lm/b/again.gguf");
    let pipe = disk.path("lm/a/pipe.gguf");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    // Opened without waiting for somebody who writes to it.
    assert!(open(&pipe).is_err());
    let (found, _) = disk.scan(&[disk.place("LM Studio", "lm", Layout::Tree)]);
    assert_eq!(found, pairs(&[("real", "lm/a/disk/real.gguf")]));
}

#[test]
fn a_huge_or_closed_folder_is_a_remark() {
    let disk = Disk::new();
    let mut deep = "lm".to_owned();
    for _ in 0..12 {
        deep += "/d";
    }
    disk.write(&format!("{deep}/deep.gguf"), "GGUF");
    fs::create_dir_all(disk.path("huge")).unwrap();
    for i in 0..=ENTRIES_MAX {
        fs::hard_link(disk.path(&format!("{deep}/deep.gguf")), disk.path(&format!("huge/{i}")))
            .unwrap();
    }
    // As root no folder is closed; that this is a file is as good an error.
    disk.write("file", "GGUF");
    let places =
        ["lm", "huge", "file", "absent"].map(|dir| disk.place("LM Studio", dir, Layout::Tree));
    let (found, remarks) = disk.scan(&places);
    assert_eq!(found, []);
    assert!(remarks[0].contains("huge has more than 20000 entries"), "{remarks:?}");
    assert!(remarks[1].contains("file can't be looked into"), "{remarks:?}");
    assert_eq!(remarks.len(), 2);
}
