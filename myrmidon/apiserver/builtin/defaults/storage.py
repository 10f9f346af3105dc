"""Defaults of StorageClasses, CSIDrivers and PriorityClasses."""

from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

STORAGE: dict[str, Completion] = {
    "api.storage.v1.StorageClass": fill(reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    "api.storage.v1.CSIDriverSpec": fill(
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    ),
    "api.scheduling.v1.PriorityClass": fill(preemptionPolicy="PreemptLowerPriority"),
}
