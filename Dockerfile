# Stage 1 installs the pinned requirements; stage 2 holds nothing but the service and its facts.
FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
COPY requirements.txt /src/
RUN /opt/venv/bin/pip install --require-hashes -r /src/requirements.txt

FROM python:3.11-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONPATH=/app \
    HOST=0.0.0.0 \
    PORT=8000 \
    STATE_PATH=/var/lib/sizing \
    RATE_LIMIT_MISSES=1200/minute
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY config ./config
COPY translations ./translations
COPY service ./service
# Any uid works, and the root file system may be read-only: nothing is written outside /dev/shm and, once there
# are uploads and no DATABASE_URL, STATE_PATH, where a volume belongs then.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health/live', timeout=2)"]
CMD ["gunicorn", "--config", "config/gunicorn.conf.py", "service.wsgi:app"]
