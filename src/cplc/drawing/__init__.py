"""Diagrams of protocols and runs as SVG, Mermaid, PlantUML and Graphviz."""
