# The images that `make image` writes without a daemon, for those who have one:
# docker build -t usher . and docker build --target pod -t usher-pod . The image of
# the command line, of make image-cli, is docker build --target cli -t usher-cli .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /programs/ ./cmd/usher-entrypoint ./cmd/usher-redirect ./cmd/usher-pod ./cmd/usher-bucket ./cmd/usher-webhook ./cmd/usher-controller

FROM build AS build-cli
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /programs/ ./cmd/usher
RUN mkdir -m 1777 /empty

FROM scratch AS cli
COPY --from=build-cli /programs/usher /usher
COPY --from=build-cli /empty /tmp
USER 65532:65532
ENTRYPOINT ["/usher"]

FROM scratch AS pod
COPY --from=build /programs/usher-entrypoint /usher
COPY --from=build /programs/usher-redirect /programs/usher-pod /programs/usher-bucket /
USER 65532:65532
ENTRYPOINT ["/usher"]

FROM pod
COPY --from=build /programs/usher-webhook /programs/usher-controller /
