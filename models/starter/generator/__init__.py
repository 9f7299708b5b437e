"""Exactly supervised memory work for the starter: see ../card.md."""
