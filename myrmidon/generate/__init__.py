"""Paperwork: from declarations to manifests, as values.  Only the command line writes files."""
