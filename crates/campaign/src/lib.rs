//! Plans carried out: steps, adaptive depth, budget, undo
