"""Configs as data: read, looked through, and fitted to the device."""
