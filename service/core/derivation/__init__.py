"""How every number of a sizing follows from the facts, as data: ordered steps with formula and values."""
