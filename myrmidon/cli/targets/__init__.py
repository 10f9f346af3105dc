"""From the argument TARGET to controller classes.

loading        imports a module or file, and finds the controllers in it
projects       the controller in a folder with a pyproject.toml
samples        the files sample*.yaml beside the controllers
import_errors  what is wrong with a module that cannot be imported
"""
