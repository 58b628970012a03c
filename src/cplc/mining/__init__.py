"""What many logs say of a protocol together: what of it they show, and how probable what others decide is."""
