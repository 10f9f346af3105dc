"""What a controller declares besides its states: options, watches, shapes of kinds, permissions."""
