"""Models x accelerators x formats x contexts: the scalar formulas, each evaluated once, over numpy axes."""
