//! What dropped nodes leave behind, dropped piece by piece.
//!
//! A piece may hold the last handle of another node, by itself or through what user code has captured. Such a node adds its
//! own pieces to those that wait, so that no chain is as deep on the stack as it is long.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use crate::{
    function::Applied,
    node::{Hooks, Node},
    plan::Kept,
};

/// A piece of a node.
#[expect(dead_code, reason = "pieces are held to be dropped")]
pub(super) enum Remains {
    /// What it was computed from.
    Node(Arc<Node>),
    Function(Box<Applied>),
    Kept(Kept),
    Hooks(Box<Hooks>),
}

/// The memory of longer lists is given back.
const MANY: usize = 1 << 10;

thread_local! {
    static WAITING: RefCell<Vec<Remains>> = const { RefCell::new(Vec::new()) };
    /// Whether this thread is dropping what waits.
    static IS_DROPPING: Cell<bool> = const { Cell::new(false) };
}

/// What `take` hands out is dropped, now or by whoever is dropping on this thread.
pub(super) fn drop_all(take: impl FnOnce(&mut dyn FnMut(Remains))) {
    // A thread that ends has no list any more: what is left is dropped where it is.
    _ = WAITING.try_with(|waiting| take(&mut |piece| waiting.borrow_mut().push(piece)));
    if IS_DROPPING.replace(true) {
        return;
    }
    let _end = End;
    while let Ok(Some(piece)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop()) {
        // No borrow is held: a piece may be user code.
        drop(piece);
    }
}

/// The end of dropping, on unwinding too.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        IS_DROPPING.set(false);
        let left = WAITING.try_with(|waiting| {
            let is_done = waiting.borrow().is_empty() && waiting.borrow().capacity() <= MANY;
            if is_done { Vec::new() } else { waiting.take() }
        });
        // There are some only if one has panicked.
        drop(left);
    }
}
