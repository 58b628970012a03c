"""Result cache and checkpoints: results reused by later runs while all their inputs are unchanged."""
