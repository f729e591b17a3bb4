//! `cargo xtask layers`: the crates' edges, compared with the table that allows them.
//!
//! [`LAYERS`] is the layering of docs/architecture.md as data. Only normal and build dependencies
//! count, optional ones included; a dev-dependency may point anywhere. xtask and the benches
//! stand outside: they may use any crate, and no crate may use them.

use super::Command;
use super::step::Failure;
use super::workspace::Member;

pub(super) const COMMAND: Command = Command {
    name: "layers",
    arguments: "",
    about: "compare the crates' dependencies with the layering table",
    details: || {
        let mut text = String::from("The edges that the table allows, lowest crate first:\n\n");
        for layer in LAYERS {
            let uses = if layer.uses.is_empty() { "nothing".into() } else { layer.uses.join(", ") };
            text.push_str(&format!("  {:<20}{uses}\n", layer.package));
        }
        text
    },
    run: |workspace, arguments| {
        arguments.finish_alone()?;
        check(&workspace.members()?)
    },
};

/// A crate and the crates of this workspace that it may depend on.
#[derive(Debug, Clone, Copy)]
struct Layer {
    package: &'static str,
    uses: &'static [&'static str],
}

const fn layer(package: &'static str, uses: &'static [&'static str]) -> Layer {
    Layer { package, uses }
}

/// The layering. The order counts: a crate uses only crates of the rows above its own.
///
/// A new crate gets a row here, above the crates that will use it, and a paragraph in
/// docs/architecture.md. A new edge is a change of the architecture: give it its own commit.
#[rustfmt::skip] // a row a crate
const LAYERS: &[Layer] = &[
    layer("tenferro-tensor",    &[]),
    layer("tenferro-arbiter",   &[]),
    layer("tenferro-provider",  &["tenferro-tensor"]),
    layer("tenferro-scope",     &["tenferro-arbiter", "tenferro-provider"]),
    layer("tenferro-ops",       &["tenferro-tensor"]),
    layer("tenferro-providers", &["tenferro-provider", "tenferro-tensor"]),
    layer("tenferro-providers-linked", &["tenferro-provider", "tenferro-tensor"]),
    layer("tenferro-engine",    &["tenferro-tensor", "tenferro-ops", "tenferro-provider", "tenferro-scope"]),
    layer("tenferro-cpu",       &["tenferro-tensor", "tenferro-arbiter", "tenferro-provider", "tenferro-scope",
                                  "tenferro-ops", "tenferro-providers", "tenferro-engine"]),
    layer("tenferro-ad",        &["tenferro-tensor", "tenferro-ops"]),
    layer("tenferro-program",   &["tenferro-tensor", "tenferro-ops"]),
    layer("tenferro-einsum",    &["tenferro-tensor", "tenferro-ops"]),
    layer("tenferro",           &["tenferro-tensor", "tenferro-arbiter", "tenferro-provider", "tenferro-scope",
                                  "tenferro-ops", "tenferro-providers", "tenferro-engine", "tenferro-cpu",
                                  "tenferro-ad", "tenferro-program", "tenferro-einsum"]),
    layer("tenferro-cli",       &["tenferro"]),
];

/// Packages outside the layering.
const OUTSIDE: &[&str] = &[
    "xtask",
    "tenferro-benches",
    "tenferro-bench-limits",
    "tenferro-bench-report",
    "tenferro-bench-worker",
];

/// Compares the workspace with the table.
pub(super) fn check(members: &[Member]) -> Result<(), Failure> {
    let breaches = breaches(LAYERS, OUTSIDE, members);
    if breaches.is_empty() {
        let edges: usize = LAYERS.iter().map(|layer| layer.uses.len()).sum();
        eprintln!("layers: {} crates keep to the {edges} allowed edges", LAYERS.len());
        return Ok(());
    }
    for breach in &breaches {
        eprintln!("layers: {breach}");
    }
    Err(Failure::Red(format!("{} breach(es) of the layering", breaches.len())))
}

/// Every way in which the members break the table, as sentences.
fn breaches(layers: &[Layer], outside: &[&str], members: &[Member]) -> Vec<String> {
    let mut found = disorder(layers);
    for layer in layers {
        if !members.iter().any(|member| member.name == layer.package) {
            found.push(format!("`{}` has a row but is no workspace crate", layer.package));
        }
    }
    for member in members.iter().filter(|member| !outside.contains(&member.name.as_str())) {
        let Some(row) = layers.iter().find(|layer| layer.package == member.name) else {
            found.push(format!("`{}` has no row: add it to LAYERS in xtask", member.name));
            continue;
        };
        found.extend(forbidden_edges(row, members, member));
    }
    found
}

/// Rows that stand above a row they use, or use themselves: with none, the table has no cycle.
fn disorder(layers: &[Layer]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        for used in layer.uses {
            if !layers[..at].iter().any(|lower| lower.package == *used) {
                let package = layer.package;
                found.push(format!(
                    "the row of `{package}` uses `{used}`, which no row above it is"
                ));
            }
        }
    }
    found
}

fn forbidden_edges(row: &Layer, members: &[Member], member: &Member) -> Vec<String> {
    let mut found = Vec::new();
    for edge in &member.edges {
        let ours = members.iter().any(|other| other.name == edge.to);
        let namesake = edge.to == "tenferro" || edge.to.starts_with("tenferro-");
        if ours && edge.local && !row.uses.contains(&edge.to.as_str()) {
            found.push(format!("`{}` must not depend on `{}`", member.name, edge.to));
        } else if namesake && !(ours && edge.local) {
            found.push(format!(
                "`{}` depends on a `{}` that is not this workspace's",
                member.name, edge.to
            ));
        } else if edge.local && !ours {
            found.push(format!("`{}` depends on `{}` outside the workspace", member.name, edge.to));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Edge;
    use super::*;

    const TABLE: &[Layer] = &[layer("a", &[]), layer("b", &["a"]), layer("c", &["a", "b"])];

    fn member(name: &str, edges: &[&str]) -> Member {
        let edges = edges.iter().map(|to| Edge { to: (*to).to_owned(), local: true }).collect();
        Member { name: name.to_owned(), edges, ..Member::default() }
    }

    fn workspace() -> Vec<Member> {
        vec![member("a", &[]), member("b", &["a"]), member("c", &["b"]), member("tool", &["c"])]
    }

    #[test]
    fn allowed_edges_pass_also_when_not_all_are_used() {
        assert_eq!(breaches(TABLE, &["tool"], &workspace()), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_no_row_allows_is_named() {
        let mut members = workspace();
        members[0] = member("a", &["b"]);
        assert_eq!(breaches(TABLE, &["tool"], &members), ["`a` must not depend on `b`"]);
    }

    #[test]
    fn no_crate_may_use_a_package_outside_the_layering() {
        let mut members = workspace();
        members[2] = member("c", &["tool"]);
        assert_eq!(breaches(TABLE, &["tool"], &members), ["`c` must not depend on `tool`"]);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_named() {
        let found = breaches(TABLE, &[], &workspace());
        assert_eq!(found, ["`tool` has no row: add it to LAYERS in xtask"]);
        let found = breaches(TABLE, &["tool"], &workspace()[..2]);
        assert_eq!(found, ["`c` has a row but is no workspace crate"]);
    }

    #[test]
    fn a_table_out_of_order_is_refused_so_no_cycle_can_be_allowed() {
        let cyclic = &[layer("a", &["b"]), layer("b", &["a"]), layer("c", &["c"])];
        let found =
            breaches(cyclic, &["tool"], &[member("a", &[]), member("b", &[]), member("c", &[])]);
        assert_eq!(
            found,
            [
                "the row of `a` uses `b`, which no row above it is",
                "the row of `c` uses `c`, which no row above it is",
            ]
        );
    }

    #[test]
    fn a_registry_namesake_and_a_foreign_path_are_refused() {
        let mut members = workspace();
        members[1].edges = vec![
            Edge { to: "tenferro-x".to_owned(), local: false },
            Edge { to: "rayon".to_owned(), local: false },
            Edge { to: "elsewhere".to_owned(), local: true },
        ];
        assert_eq!(
            breaches(TABLE, &["tool"], &members),
            [
                "`b` depends on a `tenferro-x` that is not this workspace's",
                "`b` depends on `elsewhere` outside the workspace",
            ]
        );
    }

    #[test]
    fn the_table_itself_is_in_order() {
        assert_eq!(disorder(LAYERS), Vec::<String>::new());
    }
}
