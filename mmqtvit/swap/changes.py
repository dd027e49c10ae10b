"""What is to change in a config, as a value."""

from dataclasses import dataclass

from ..cfg.tree import with_value


@dataclass(frozen=True)
class Changes:
    """New values for places of a config, and what the user is told of them.

    No step sees what another changes: each reads the original config, and no two set the same
    place, so that their order does not matter.

    Args:
        values (tuple[tuple[tuple, Any]]): Pairs of a path, such as ``('model', 'neck')``, and the
            value to stand there. Defaults to ().
        notes (tuple[str]): What of the original is dropped or kept, and why. Defaults to ().
        warnings (tuple[str]): Where the meaning of the config changes. Defaults to ().
    """
    values: tuple = ()
    notes: tuple = ()
    warnings: tuple = ()

    def __add__(self, other: 'Changes') -> 'Changes':
        return Changes(self.values + other.values, self.notes + other.notes,
                       self.warnings + other.warnings)

    def below(self, path: tuple) -> 'Changes':
        """The same changes for a config that has the present one at a path."""
        return Changes(tuple(((*path, *inner), value) for inner, value in self.values),
                       self.notes, self.warnings)

    def apply(self, config: dict) -> dict:
        """A config with the new values; the given one stays as it is."""
        for path, value in self.values:
            config = with_value(config, path, value)
        return config
