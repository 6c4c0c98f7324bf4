// Filled as its room is built.
