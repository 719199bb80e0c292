# The image that `make image` writes without a daemon, for those who have one.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /usher ./cmd/usher-server

FROM scratch
COPY --from=build /usher /usher
USER 65532:65532
ENTRYPOINT ["/usher"]
