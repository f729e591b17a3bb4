//! Column-major dense tensors, strided views and the vocabulary of operations.
