# syntax=docker/dockerfile:1
# One image with the one program, for the five services and the command line. The build needs BuildKit, the default of
# today's engines: its caches keep the compiled libraries from one build to the next.

FROM node:22-bookworm-slim AS pages
WORKDIR /source/services/centre/web
COPY services/centre/web/package.json services/centre/web/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm,sharing=locked npm ci --ignore-scripts --no-audit --no-fund
# The documentation is made of texts all over the repository, and of the files that they link to.
COPY . /source
RUN node build.mjs && node site/build.mjs

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
# The program carries the pages of the control centre, and the documentation.
COPY --from=pages /source/services/centre/web/dist services/centre/web/dist
COPY --from=pages /source/services/centre/web/site/dist services/centre/web/site/dist
# The folder of results is a cache and no part of the layer: the program is moved out of it in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/source/target,sharing=locked \
    cargo build --release --locked --package pagurus-cli \
    && install -D --strip --target-directory=/programs target/release/pagurus

# glibc, certificates and nothing else: no shell, no package manager. The C library is the same
# release as that of the build.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /programs/ /usr/local/bin/
COPY pagurus.yaml /etc/pagurus/pagurus.yaml
# By number, so that an orchestrator can see that it is not root.
USER 65532:65532
EXPOSE 8080
# Which service it is, is the command: `pagurus serve --roles worker`.
CMD ["pagurus", "--help"]
