# onward with every extra, as one image for all processes: `docker run onward worker`.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md ./
COPY src ./src
RUN python -m venv /opt/onward && /opt/onward/bin/pip install --no-cache-dir '.[all]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/onward --create-home onward
COPY --from=build /opt/onward /opt/onward
COPY deploy/rabbitmq /opt/onward/share/rabbitmq
ENV PATH=/opt/onward/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/onward
ENTRYPOINT ["onward"]
CMD ["--help"]
