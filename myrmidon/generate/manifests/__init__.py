"""Manifests to install a controller with.

layout     which manifest goes into which file
rbac       the roles that the declarations need
usage      what the code of a controller can ask for, read from its source
deploy     Deployment, Service, ServiceMonitor and the like
alerts     the PrometheusRule
image      the Dockerfile
helm       the Helm chart
olm        the bundle for the Operator Lifecycle Manager
packaging  names, image and namespace of an installation
yaml       YAML as people write it
"""
