//! What the first process of a guest needs: mounts, kernel modules, power-off, terminals.
