# gputexel with a software Vulkan driver; with the drivers of the host (`--gpus all`, `--device /dev/dri`), real GPUs
# work, too.
#   docker build -t gputexel .
#   docker run --rm -v "$PWD:/work" gputexel tune games.pgn --out first
# Releases push it to ghcr.io.
FROM rust:1-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked --package gputexel --bin gputexel

FROM debian:bookworm-slim
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends libvulkan1 mesa-vulkan-drivers \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/target/dist/gputexel /usr/local/bin/gputexel
COPY --from=build /source/data/sample.bin /usr/local/share/gputexel/sample.bin
# Mesa's device-select layer complains where there is no desktop.
ENV NODEVICE_SELECT=1
RUN useradd --create-home --uid 1000 gputexel
USER gputexel
WORKDIR /work
ENTRYPOINT ["gputexel"]
CMD ["--help"]
