# One image for every role: `docker run … <api | projector | relay | webhooks | reconciler | notary | all>`. Without engine URLs `all` keeps everything in /data.
FROM node:24.20.0-bookworm-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY domain domain
COPY application application
COPY projections projections
COPY adapters adapters
COPY bin bin
RUN node bin/build.mjs

FROM node:24.20.0-bookworm-slim AS dependencies
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24.20.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
# A named volume takes over the owner of the folder that it is mounted on.
RUN mkdir /data /secrets /head && chown node:node /data /secrets /head && chmod 700 /data /secrets /head
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
# The console and the documentation show them.
COPY CHANGELOG.md ./
COPY examples examples
# The command line: `docker run … handwritten-cards` as an entry point, or `docker compose exec api handwritten-cards …`.
RUN printf '#!/bin/sh\nexec node /app/dist/bin/cli.js "$@"\n' > /usr/local/bin/handwritten-cards && chmod 755 /usr/local/bin/handwritten-cards
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=64", "dist/bin/serve.js"]
CMD ["all"]
