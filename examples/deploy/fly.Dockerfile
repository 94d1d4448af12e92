FROM ghcr.io/postrider/postrider:0.2.0
# Volumes belong to root. The machine is a virtual one of its own, so root reaches nothing else.
USER 0:0
