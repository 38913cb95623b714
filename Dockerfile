# Grading with all walls on a computer that is not Linux (Docker Desktop on Windows or macOS), or on a
# Linux where users may not make namespaces. One command builds it and grades grading/submitted:
#
#   docker build -t attention-course . && docker run --rm -it --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined -v "./grading:/course/grading" attention-course grade
#
# Anything else that `python -m autograder` does goes in the place of `grade`: `doctor` says which walls
# stand. The container may make namespaces for the kernels that it starts, which is what those options
# are for; students' code runs inside of them, with no network and no rights.
#
# On Intel and AMD processors pip's torch brings CUDA's libraries, gigabytes that grading does not need:
# --build-arg TORCH_FROM="--index-url ADDRESS" with the address that PyTorch's own instructions give for
# its CPU build leaves them out.
FROM python:3.11-slim

WORKDIR /course
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1

COPY constraints.txt pyproject.toml README.md ./
ARG TORCH_FROM=""
RUN pip install -c constraints.txt ${TORCH_FROM} torch

COPY course_utils course_utils
COPY autograder autograder
RUN pip install -c constraints.txt -e ./course_utils -e . \
 && jupyter kernelspec install --sys-prefix --name attention-warm autograder/kernel/spec

COPY course.toml nbgrader_config.py ./
COPY notebooks notebooks
COPY source source
COPY release release

ENTRYPOINT ["python", "-m", "autograder"]
CMD ["doctor"]
