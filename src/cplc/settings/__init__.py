"""Settings of a project: its files, defaults of options, and suppressed warnings; comments that suppress warnings."""

from cplc.settings.settings_file import FileOptions, Pattern, Settings, settings_for, settings_paths
from cplc.settings.suppression import apply_ignores

__all__ = ["FileOptions", "Pattern", "Settings", "apply_ignores", "settings_for", "settings_paths"]
