"""Which warnings users want to hear of: what a settings file says, and what comments say."""

from cplc.settings.comments import kept, without
from cplc.settings.files import Settings, settings_for, settings_places

__all__ = ["Settings", "kept", "settings_for", "settings_places", "without"]
