/** The Kubernetes objects of every overlay, rendered by this repository's own check: no cluster and no kustomize is asked. */
import { describe, expect, it } from "vitest";
import { render } from "./lib/kustomize.mjs";
import { serverFacts } from "./lib/server-facts.mjs";
import { readYaml, type YamlValue } from "./lib/yaml-files.mjs";

const FOLDER = "deploy/kubernetes";
const FILES = { cpu: `${FOLDER}/base/sonant.yaml`, gpu: `${FOLDER}/components/gpu/sonant.yaml` };
const facts = serverFacts(Object.values(FILES));

type Labels = Record<string, string>;
const isWithin = (selector: Labels, labels: Labels) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

function look(overlay: string) {
  const objects = render(`${FOLDER}/overlays/${overlay}`);
  const all = (kind: string) => objects.filter((object) => object.kind === kind);
  const one = (kind: string, name: string) =>
    all(kind).find(({ metadata }) => metadata.name === name);
  const pods: YamlValue[] = all("Deployment").map(({ spec }) => spec.template);
  return { objects, all, one, pods, server: one("Deployment", "sonant") };
}

describe.each(["cpu", "gpu", "replicas"])("overlay %s", (overlay) => {
  const { objects, all, one, pods, server } = look(overlay);
  const [container] = server.spec.template.spec.containers;

  it("has each object once, in one namespace", () => {
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const namespaces = objects
      .filter(({ kind }) => kind !== "Namespace")
      .map(({ metadata }) => metadata.namespace);
    expect(new Set(namespaces)).toEqual(new Set(["sonant"]));
  });

  it("selects pods that there are", () => {
    const labels: Labels[] = pods.map(({ metadata }) => metadata.labels);
    const selectors: Labels[] = [
      ...all("Service").map(({ spec }) => spec.selector),
      ...all("PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
      ...all("NetworkPolicy").map(({ spec }) => spec.podSelector.matchLabels),
    ];
    for (const selector of selectors) {
      expect(labels.filter((candidate) => isWithin(selector, candidate))).toHaveLength(1);
    }
    for (const { spec } of all("Deployment")) {
      expect(isWithin(spec.selector.matchLabels, spec.template.metadata.labels)).toBe(true);
    }
    for (const { spec } of all("ServiceMonitor")) {
      const services = all("Service").filter(({ metadata }) =>
        isWithin(spec.selector.matchLabels, metadata.labels),
      );
      expect(services.map(({ metadata }) => metadata.name)).toEqual(["sonant"]);
      expect(services[0].metadata.labels[spec.jobLabel]).toBe("sonant");
      expect(services[0].spec.ports.map(({ name }: YamlValue) => name)).toContain(
        spec.endpoints[0].port,
      );
      expect(facts.paths).toContain(spec.endpoints[0].path);
    }
  });

  it("names ports and services that there are", () => {
    for (const { spec } of all("Service")) {
      const pod = pods.find(({ metadata }) => isWithin(spec.selector, metadata.labels));
      const ports = pod.spec.containers[0].ports.map(({ name }: YamlValue) => name);
      for (const { targetPort } of spec.ports) expect(ports).toContain(targetPort);
    }
    for (const { spec } of all("NetworkPolicy")) {
      const pod = pods.find(({ metadata }) =>
        isWithin(spec.podSelector.matchLabels, metadata.labels),
      );
      const ports = pod.spec.containers[0].ports.map(({ name }: YamlValue) => name);
      for (const { port } of spec.ingress.flatMap((rule: YamlValue) => rule.ports))
        expect(ports).toContain(port);
    }
    for (const { path, backend } of paths(all("Ingress"))) {
      const service = one("Service", backend.service.name);
      expect(
        service?.spec.ports.map(({ name }: YamlValue) => name),
        path,
      ).toContain(backend.service.port.name);
      if (path !== "/" && path !== "/socket.io/") expect(facts.paths).toContain(path);
    }
  });

  it("probes routes of the server, and gives a pod longer to stop than it takes", () => {
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      expect(facts.paths).toContain(container[probe].httpGet.path);
      expect(container[probe].httpGet.port).toBe("http");
    }
    expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    expect(container.livenessProbe.httpGet.path).toBe("/healthz");
    const file = facts.files[overlay === "gpu" ? FILES.gpu : FILES.cpu];
    const waits = Number(container.lifecycle.preStop.exec.command[1]);
    const { terminationGracePeriodSeconds: grace } = server.spec.template.spec;
    expect(grace).toBeGreaterThanOrEqual(waits + (file?.drainSeconds ?? 0) + 10);
  });

  it("gives every pod what it mounts, and no right that it does not need", () => {
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(spec.automountServiceAccountToken).toBe(false);
      const volumes = spec.volumes.map(({ name }: YamlValue) => name);
      for (const { volumeMounts, securityContext, resources } of spec.containers) {
        expect(volumeMounts.map(({ name }: YamlValue) => name).sort()).toEqual([...volumes].sort());
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(resources.limits.memory).toBeDefined();
      }
      for (const { configMap, persistentVolumeClaim } of spec.volumes) {
        if (configMap) expect(one("ConfigMap", configMap.name)).toBeDefined();
        if (persistentVolumeClaim)
          expect(one("PersistentVolumeClaim", persistentVolumeClaim.claimName)).toBeDefined();
      }
    }
    const given = container.env.map(({ name }: YamlValue) => name);
    expect(facts.variables).toEqual(expect.arrayContaining(given));
    const config = container.env.find(({ name }: YamlValue) => name === "SONANT_CONFIG").value;
    expect(config).toBe(`/etc/sonant/${Object.keys(one("ConfigMap", "sonant-config").data)[0]}`);
  });
});

function paths(ingresses: YamlValue[]): YamlValue[] {
  return ingresses.flatMap(({ spec }) => spec.rules.flatMap((rule: YamlValue) => rule.http.paths));
}

it("the deploy files are ones that the server accepts, behind a proxy that it may believe", () => {
  for (const file of Object.values(FILES)) {
    expect(facts.files[file]).toMatchObject({ problems: [], warnings: [], trustProxy: true });
  }
});

it("a pod gets its GPU, and the image and the deploy file that use it, in the overlay of that name alone", () => {
  const gpu = look("gpu");
  const [container] = gpu.server.spec.template.spec.containers;
  expect(container.resources.limits["nvidia.com/gpu"]).toBe("1");
  expect(container.image).toMatch(/-cuda$/);
  expect(gpu.one("ConfigMap", "sonant-config").data["sonant.yaml"]).toContain("devices: cuda");
  const [plain] = look("cpu").server.spec.template.spec.containers;
  expect(plain.resources.limits["nvidia.com/gpu"]).toBeUndefined();
  expect(plain.image).toMatch(/-cpu$/);
});

it("a volume that one pod holds has one pod, and several pods have none", () => {
  for (const overlay of ["cpu", "gpu"]) {
    const { server, one } = look(overlay);
    expect(one("PersistentVolumeClaim", "sonant-voices").spec.accessModes).toEqual([
      "ReadWriteOnce",
    ]);
    expect([server.spec.replicas, server.spec.strategy.type]).toEqual([1, "Recreate"]);
  }
  const { server, all } = look("replicas");
  expect(all("PersistentVolumeClaim")).toEqual([]);
  expect(server.spec.replicas).toBeUndefined();
  const [container] = server.spec.template.spec.containers;
  expect(container.env.map(({ name }: YamlValue) => name)).toContain("SONANT_REDIS_URL");
  expect(container.envFrom).toEqual([{ secretRef: { name: "sonant-voices-store" } }]);
});

it("the autoscaler adds a pod before those that there are have no place left", () => {
  const { one } = look("replicas");
  const { scaleTargetRef, triggers } = one("ScaledObject", "sonant").spec;
  expect(one(scaleTargetRef.kind, scaleTargetRef.name)).toBeDefined();
  const { metricType, metadata } = triggers[0];
  // A share of all pods' capacity: a value that is not divided by the number of pods once more.
  expect([metricType, metadata.query]).toEqual([
    "Value",
    expect.stringContaining("tts_streams_capacity"),
  ]);
  expect(Number(metadata.threshold)).toBeGreaterThan(0.5);
  expect(Number(metadata.threshold)).toBeLessThan(0.9);
});

it("Prometheus gets the same alerts by its operator", () => {
  const [rules] = readYaml("deploy/prometheus/alerts.yml");
  expect(look("replicas").one("PrometheusRule", "sonant").spec).toEqual(rules);
});
