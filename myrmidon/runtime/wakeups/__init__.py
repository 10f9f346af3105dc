"""What causes a pass.

triggers           which objects a change concerns
read_dependencies  what each pass has read, and which objects a change of it wakes
refused_outputs    objects in the way of outputs, whose end causes a pass
"""
