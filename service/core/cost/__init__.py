"""What a scenario costs: rent by dated offers, electricity, and renting against buying the same hardware."""
