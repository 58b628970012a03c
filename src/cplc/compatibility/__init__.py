"""Compatibility of two versions of a protocol: added and removed behaviour, and broken commitments."""
