"""Games of a group of agents against all others: winning regions and strategies, full and uniform."""
