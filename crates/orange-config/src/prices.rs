//! The prices of models, shipped as data.
//!
//! `.ci/prices` writes the data from a published package; nothing is fetched when orange runs.

use std::sync::{Arc, LazyLock};

use orange_engine::budget::PriceTable;

static PRICES: LazyLock<Arc<PriceTable>> = LazyLock::new(|| {
    // A test reads the same text, so it cannot be wrong here; without prices every model would be
    // unpriced, which a limit refuses.
    Arc::new(serde_json::from_str(include_str!("prices.json")).unwrap_or_default())
});

/// The prices that were shipped with this version.
pub fn prices() -> Arc<PriceTable> {
    Arc::clone(&PRICES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_source_a_date_and_plausible_prices() {
        let table: PriceTable = serde_json::from_str(include_str!("prices.json")).unwrap();
        assert_eq!(*prices(), table);
        assert_eq!(table.source, "litellm");
        assert!(table.version.split('.').count() >= 3, "{}", table.version);
        let date: Vec<&str> = table.date.split('-').collect();
        assert_eq!(
            date.iter().map(|it| it.len()).collect::<Vec<_>>(),
            [4, 2, 2]
        );
        assert_eq!(table.unit, "millionths of a US dollar per million tokens");
        assert!((150..1000).contains(&table.models.len()));
        for (name, price) in &table.models {
            let all = [price.input, price.cached, price.cache_write, price.output];
            // Between a cent and a thousand dollars per million tokens; a cached token may cost a
            // hundredth of that, but is never free.
            assert!(
                all.iter().all(|it| (1..=1_000_000_000).contains(it)),
                "{name}: {price:?}"
            );
            assert!(price.cached <= price.input, "{name}: {price:?}");
            assert!(price.output >= price.input, "{name}: {price:?}");
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._".contains(it);
            assert!(name.chars().all(is_plain), "{name}");
        }
        for model in ["claude-opus-5-5", "gpt-5-codex", "gemini-3.1-pro-preview"] {
            assert!(table.price(model).is_some(), "{model}");
        }
    }
}
