# weft with every extra, as one image for all processes: `docker run weft worker`.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md ./
COPY src ./src
RUN python -m venv /opt/weft && /opt/weft/bin/pip install --no-cache-dir '.[all]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/weft --create-home weft
COPY --from=build /opt/weft /opt/weft
COPY deploy/rabbitmq /opt/weft/share/rabbitmq
ENV PATH=/opt/weft/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/weft
ENTRYPOINT ["weft"]
CMD ["--help"]
