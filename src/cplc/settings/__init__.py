"""Suppression of warnings: by a settings file, or by comments."""

from cplc.settings.suppression import Settings, apply_ignores, settings_for, settings_paths

__all__ = ["Settings", "apply_ignores", "settings_for", "settings_paths"]
