# syntax=docker/dockerfile:1
# One image for the five services and the command line. The build needs BuildKit, the default of
# today's engines: its caches keep the compiled libraries from one build to the next.

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
# The folder of results is a cache and no part of the layer: programs are moved out of it in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/source/target,sharing=locked \
    cargo build --release --locked \
        --package pagurus-intake --package pagurus-dispatcher --package pagurus-activator \
        --package pagurus-worker --package pagurus-notifier --package pagurus-cli \
    && install -D --strip --target-directory=/programs \
        target/release/pagurus-intake target/release/pagurus-dispatcher target/release/pagurus-activator \
        target/release/pagurus-worker target/release/pagurus-notifier target/release/pagurus

# glibc, certificates and nothing else: no shell, no package manager. The C library is the same
# release as that of the build.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /programs/ /usr/local/bin/
COPY pagurus.yaml /etc/pagurus/pagurus.yaml
# By number, so that an orchestrator can see that it is not root.
USER 65532:65532
EXPOSE 8080
# Which service it is, is the command: pagurus-intake, pagurus-worker, ….
CMD ["pagurus", "--help"]
