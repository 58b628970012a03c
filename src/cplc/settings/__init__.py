"""Suppression of warnings: by a settings file, or by comments."""

from cplc.settings.comments import apply_ignores
from cplc.settings.files import Settings, settings_for, settings_paths

__all__ = ["Settings", "apply_ignores", "settings_for", "settings_paths"]
