# The service in one image. BASE_IMAGE is any image with Node.js 20.19 or newer and npm; RUNTIME_IMAGE may be one without
# npm and without a shell. Nothing here needs anything newer than a plain builder.
ARG BASE_IMAGE=node:20-bookworm-slim
ARG RUNTIME_IMAGE=${BASE_IMAGE}

FROM ${BASE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts/bundle.ts ./scripts/
COPY src ./src
RUN npm run build

FROM ${BASE_IMAGE} AS packages
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && mkdir -p /out/state
# The tracing SDK, which config.traces.enabled needs: in a folder of its own, since it brings the interface in a version of its own.
ARG WITH_TRACES=0
WORKDIR /out/traces
RUN if [ "$WITH_TRACES" = 1 ]; then npm install --prefix /out/traces --no-save --no-audit --no-fund @opentelemetry/sdk-trace-node@2.12.1 \
  @opentelemetry/resources@2.12.1 @opentelemetry/exporter-trace-otlp-http@0.223.1; fi

FROM ${RUNTIME_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tidemark" \
      org.opencontainers.image.description="Keeps tables current from partial snapshots in Kafka" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
COPY --from=packages /build/node_modules /opt/tidemark/node_modules
COPY --from=build /build/dist /opt/tidemark/dist
COPY --from=packages /out/traces /opt
COPY package.json LICENSE /opt/tidemark/
# The only folder that is written to, and only with the embedded state: mount a volume there.
COPY --from=packages --chown=10001:10001 /out/state /var/lib/tidemark
# tidemark.yaml is looked for in this folder. Defaults are there and not in the environment, which would win over a file
# that somebody mounts.
WORKDIR /etc/tidemark
COPY deploy/image/tidemark.yaml /etc/tidemark/tidemark.yaml
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# For docker; Kubernetes has probes of its own. It knows another port from TIDEMARK_HTTP_PORT only.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TIDEMARK_HTTP_PORT ?? 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/tidemark/dist/main.js"]
CMD ["run"]
