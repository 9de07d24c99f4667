"""How fast a scenario that fits would run: decode, prefill, time to first token, each with an interval."""
