//! Trees of interfaces → a gateway file.

use super::{key, string};
use candor_egress::text::{self, Unsayable};
use candor_egress::tree::Tree;

/// A file that gives each of these interfaces its tree, under the name of the interface.
///
/// # Errors
/// Everything that the language of `tc` cannot say, of the first interface of which it cannot say all.
pub fn of_trees(trees: &[(String, Tree)]) -> Result<String, (String, Vec<Unsayable>)> {
    let mut file = String::new();
    for (interface, _) in trees {
        file.push_str(&format!("\n[bus.{}]\ninterface = {}\n", key(interface), string(interface)));
    }
    for (interface, tree) in trees {
        let lines = text::lines(tree).map_err(|unsayable| (interface.clone(), unsayable))?;
        file.push_str(&format!("\n[egress.{}]\ntree = '''\n{lines}'''\n", key(interface)));
    }
    Ok(file)
}
