"""Pictures of protocols and runs: SVG that needs no other program, and the text that other programs draw."""
