//! The documents that the shipped workflows come from.

use std::fs;
use std::path::Path;

/// The structure of both documents, with prompts in our own words.
pub const LARGE: &str = include_str!("seeds/large.yml");
pub const MINIMAL: &str = include_str!("seeds/minimal.yml");

/// The documents themselves, which lie beside the checkout or nowhere.
#[expect(
    clippy::disallowed_methods,
    reason = "the original documents are files beside the checkout"
)]
pub fn original_documents() -> Option<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let mut files = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap());
    let file = files.find(|file| file.file_name().to_string_lossy().starts_with("002_"));
    let text = fs::read_to_string(file.unwrap().path()).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    let documents = blocks.filter(|block| block.starts_with("name:"));
    Some(documents.map(str::to_owned).collect())
}
