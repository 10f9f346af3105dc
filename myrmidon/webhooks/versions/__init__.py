"""Versions of a kind: convert objects, answer conversion reviews, migrate the stored version.

conversion    an object of one version as an object of another, without losing a field
remembered    what a conversion loses, and how it is put back
list_keys     which lists of a model have keys
placeholders  stand for objects that cannot be converted
review        ConversionReview in, ConversionReview out
migration     which objects have to be written again after the storage version has changed
"""

from myrmidon.webhooks.versions.conversion import convert, versions_of
from myrmidon.webhooks.versions.review import CONVERT_PATH, Converter

__all__ = ["CONVERT_PATH", "Converter", "convert", "versions_of"]
