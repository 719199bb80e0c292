# The images that `make image` writes without a daemon, for those who have one:
# docker build -t usher . and docker build --target pod -t usher-pod .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /programs/ ./cmd/usher-entrypoint ./cmd/usher-redirect ./cmd/usher-pod ./cmd/usher-webhook ./cmd/usher-controller

FROM scratch AS pod
COPY --from=build /programs/usher-entrypoint /usher
COPY --from=build /programs/usher-redirect /programs/usher-pod /
USER 65532:65532
ENTRYPOINT ["/usher"]

FROM pod
COPY --from=build /programs/usher-webhook /programs/usher-controller /
