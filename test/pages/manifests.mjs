// Manifests that the pages are made of.

const names = ["checkout", "cart", "payments", "search", "catalog", "mailer", "ledger", "invoices", "sessions", "gateway"];
const namespaces = ["shop", "billing", "search", "platform", "identity", "reports", "edge"];
const overlays = ["base", "overlays/production", "overlays/staging"];

// workload is a file with problems of several levels. Six findings are about it.
const workload = (name, namespace) => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: ${namespace}
  labels:
    app.kubernetes.io/name: ${name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
      - name: app
        image: registry.example.com/${namespace}/${name}:1.4.2
        env:
        - name: DATABASE_PASSWORD
          value: hunter2
        ports:
        - containerPort: 8080
          name: http
        livenessProbe:
          httpGet: {path: /healthz, port: http}
        readinessProbe:
          httpGet: {path: /healthz, port: http}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: ${name}-nightly, namespace: ${namespace}}
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Berlin
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: job
            image: registry.example.com/${namespace}/${name}-job:1.4.2
`;

// many returns files by path.
export function many(files) {
  const all = {};
  for (let i = 0; i < files; i++) {
    const namespace = namespaces[i % namespaces.length];
    const name = `${names[i % names.length]}-${i}`;
    all[`${namespace}/${overlays[i % overlays.length]}/${name}.yaml`] = workload(name, namespace);
  }
  return all;
}

const markup = `"><img src=x onerror=alert(1)><script>alert(1)</script></script></pre></title><!--`;

// hostile has markup in every text, and a Secret that is invalid.
export const hostile = [markup, "\u202egnp.exe\u2066", "x".repeat(500)].map((text) => {
  const q = JSON.stringify(text);
  return `apiVersion: batch/v1
kind: Job
metadata: {name: ${q}, namespace: ${q}, labels: {${q}: ${q}}}
spec:
  ${q}: ${q}
  template: {spec: {restartPolicy: ${q}, containers: [{name: ${q}, image: ${q}}]}}
---
{apiVersion: ${q}, kind: ${q}, metadata: {name: ${q}}}
`;
}).join("---\n") + `---
{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: hunter2 is not base64}}
`;

export const before = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/web:1.0"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: data}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:18.1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: main, namespace: data}
spec: {size: 3, version: 3.6.16}
---
apiVersion: v1
kind: Service
metadata: {name: old, namespace: shop}
spec: {ports: [{port: 80}]}
`;

export const after = before
  .replace("web:1.0", "web:1.1").replace("revisionHistoryLimit: 3", "revisionHistoryLimit: 0").replace("replicas: 6", "replicas: 8")
  .replace("18.1", "18.2").replace("10Gi", "20Gi").replace("3.6.16", "3.7.3").replace("name: old", "name: new");

export const cronjobs = [["nightly", "30 2 * * *", "Europe/Berlin", 5400], ["office-hours", "*/20 7-18 * * 1-5", "America/New_York", 1500], ["each-minute", "* * * * *", "Etc/UTC", 30]]
  .map(([name, schedule, zone, deadline]) => `apiVersion: batch/v1
kind: CronJob
metadata: {name: ${name}, namespace: shop}
spec:
  schedule: "${schedule}"
  timeZone: ${zone}
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {activeDeadlineSeconds: ${deadline}, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
`).join("---\n");
