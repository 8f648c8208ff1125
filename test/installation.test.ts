import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Deployment as DeploymentModel } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseDuration, readSettings, settingNames } from '../bin/settings/settings.js';
import { roles } from '../bin/wiring/roles.js';
import { startTestService, type RunningService } from './support/http/service.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = `${root}docs/operations/kubernetes/`;
const read = (path: string): string => readFileSync(path, 'utf8');

const Resource = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
const List = z.object({ kind: z.literal('List'), apiVersion: z.literal('v1'), items: z.array(Resource) });
const Named = z.object({ name: z.string(), value: z.string() });
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const Labels = z.record(z.string(), z.string());
const Deployment = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    selector: z.object({ matchLabels: Labels }),
    template: z.object({
      metadata: z.object({ labels: Labels }),
      spec: z.object({
        enableServiceLinks: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        initContainers: z.array(z.object({ image: z.string(), command: z.array(z.string()) })).default([]),
        containers: z.tuple([
          z.object({
            image: z.string(),
            args: z.array(z.string()),
            env: z.array(Named),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            startupProbe: Probe,
            livenessProbe: Probe,
            readinessProbe: Probe,
            volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
          }),
        ]),
        volumes: z.array(
          z.object({
            name: z.string(),
            secret: z.object({ items: z.array(z.object({ path: z.string() })) }).optional(),
          }),
        ),
      }),
    }),
  }),
});

/** What points at pods, or at a Service, by labels and names of ports. */
const Ports = z.array(z.object({ port: z.union([z.string(), z.number()]) }));
const Pointing = z.object({
  metadata: z.object({ name: z.string(), labels: Labels.optional() }),
  spec: z.object({
    selector: z.union([z.object({ matchLabels: Labels }), Labels]).optional(),
    podSelector: z
      .object({
        matchLabels: Labels,
        matchExpressions: z.array(z.object({ key: z.string(), values: z.array(z.string()) })).optional(),
      })
      .optional(),
    ports: z.array(z.object({ name: z.string(), targetPort: z.string() })).optional(),
    ingress: z.array(z.object({ ports: Ports })).optional(),
    endpoints: Ports.optional(),
    scaleTargetRef: z.object({ apiVersion: z.string(), kind: z.string(), name: z.string() }).optional(),
  }),
});

/** The models of the kinds in use, by `apiVersion` and kind, which check what they are made of. */
const modelsByKind: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  'v1 ConfigMap': ConfigMap,
  'v1 PersistentVolumeClaim': PersistentVolumeClaim,
  'v1 Service': Service,
  'apps/v1 Deployment': DeploymentModel,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'monitoring.coreos.com/v1 ServiceMonitor': ServiceMonitor,
};

describe('the manifests for Kubernetes', () => {
  const kustomization = z
    .object({
      resources: z.array(z.string()),
      images: z.array(z.object({ name: z.string(), newName: z.string(), newTag: z.string() })),
    })
    .parse(parse(read(`${folder}kustomization.yaml`)));
  const resources = kustomization.resources.flatMap(
    (name) => List.parse(parse(read(`${folder}${name}`), { merge: true })).items,
  );
  const deployments = resources
    .filter(({ kind }) => kind === 'Deployment')
    .map((resource) => Deployment.parse(resource));
  const settings = z
    .object({ data: z.record(z.string(), z.string()) })
    .parse(resources.find(({ kind }) => kind === 'ConfigMap')).data;
  const Compose = z.object({
    services: z.record(
      z.string(),
      z.object({
        image: z.string(),
        build: z.string().optional(),
        environment: z.record(z.string(), z.string()).optional(),
      }),
    ),
  });
  const compose = Compose.parse(parse(read(`${root}docker-compose.yml`), { merge: true }));
  let service: RunningService;
  before(async () => {
    service = await startTestService({ OPERATOR_PORT: '0' });
  });
  after(() => service.stop());

  it('are listed whole', () => {
    const files = readdirSync(folder).filter((name) => name !== 'kustomization.yaml');
    expect(kustomization.resources).to.have.members(files);
  });

  it('have the form that Kubernetes asks for', () => {
    for (const resource of resources) {
      const kind = `${resource.apiVersion} ${resource.kind}`;
      const Model = modelsByKind[kind];
      if (Model === undefined) throw new Error(`no model of ${kind}`);
      expect(
        () => new Model(resource as never).validate(),
        `${kind} ${resource.metadata.name}`,
      ).not.to.throw();
    }
    expect(() => new DeploymentModel({ spec: { replicas: 'two' } } as never).validate()).to.throw(/replicas/);
  });

  it('run the image that compose builds, in the version of this checkout', () => {
    const { name, version } = z
      .object({ name: z.string(), version: z.string() })
      .parse(JSON.parse(read(`${root}package.json`)));
    const pods = deployments.map(({ spec }) => spec.template.spec);
    const [image, ...others] = new Set(
      pods
        .flatMap(({ initContainers, containers }) => [...initContainers, ...containers])
        .map((each) => each.image),
    );
    expect([image, others]).to.deep.equal([name, []]);
    expect(
      kustomization.images.map(({ name: of, newName, newTag }) => [of, newName.split('/').at(-1), newTag]),
    ).to.deep.equal([[name, name, version]]);
    const built = new Set(
      Object.values(compose.services).flatMap((each) => (each.build ? [each.image] : [])),
    );
    expect([...built]).to.deep.equal([`${name}:${version}`]);
  });

  it('point at pods, ports and objects that are there', () => {
    const pointing = (...kinds: readonly string[]) =>
      resources.filter(({ kind }) => kinds.includes(kind)).map((resource) => Pointing.parse(resource));
    const covers = (wanted: z.infer<typeof Labels>, labels: z.infer<typeof Labels> = {}): boolean =>
      Object.entries(wanted).every(([label, value]) => labels[label] === value);
    const labelsOf = (selector: NonNullable<z.infer<typeof Pointing>['spec']['selector']>) =>
      (typeof selector['matchLabels'] === 'object' ? selector['matchLabels'] : selector) as z.infer<
        typeof Labels
      >;
    const pods = deployments.map(({ spec }) => spec.template);
    const selected = (labels: z.infer<typeof Labels>, what: string): typeof pods => {
      const found = pods.filter(({ metadata }) => covers(labels, metadata.labels));
      expect(found, what).to.have.property('length').that.is.above(0);
      return found;
    };
    const expectPorts = (on: typeof pods, names: readonly (string | number)[], what: string): void => {
      for (const { spec } of on)
        expect(
          spec.containers[0].ports.map(({ name }) => name),
          what,
        ).to.include.members([...names]);
    };
    for (const { metadata, spec } of deployments)
      expect(selected(spec.selector.matchLabels, metadata.name)).to.deep.equal([spec.template]);
    const services = pointing('Service');
    for (const { metadata, spec } of [...services, ...pointing('PodDisruptionBudget')])
      expectPorts(
        selected(labelsOf(spec.selector ?? {}), metadata.name),
        (spec.ports ?? []).map(({ targetPort }) => targetPort),
        metadata.name,
      );
    for (const { metadata, spec } of pointing('NetworkPolicy')) {
      const { matchLabels = {}, matchExpressions = [] } = spec.podSelector ?? {};
      const ports = (spec.ingress ?? []).flatMap(({ ports: all }) => all.map(({ port }) => port));
      expectPorts(selected(matchLabels, metadata.name), ports, metadata.name);
      for (const { key, values } of matchExpressions)
        for (const value of values) selected({ ...matchLabels, [key]: value }, metadata.name);
    }
    for (const { spec } of pointing('ServiceMonitor')) {
      const watched = services.filter(({ metadata }) =>
        covers(labelsOf(spec.selector ?? {}), metadata.labels),
      );
      const names = watched.flatMap((each) => each.spec.ports ?? []).map(({ name }) => name);
      expect(names).to.deep.equal((spec.endpoints ?? []).map(({ port }) => port));
    }
    for (const { spec } of pointing('HorizontalPodAutoscaler')) {
      const { apiVersion, kind, name } = spec.scaleTargetRef ?? {};
      expect(
        resources.filter(
          (each) => each.kind === kind && each.apiVersion === apiVersion && each.metadata.name === name,
        ),
      ).to.have.lengthOf(1);
    }
  });

  it('run every role but `all` by its name', () => {
    expect(
      deployments.map(({ metadata, spec }) => [metadata.name, spec.template.spec.containers[0].args]),
    ).to.deep.equal(roles.filter((role) => role !== 'all').map((role) => [role, [role]]));
  });

  it('set what the service knows, give each role the secret files that it has in compose, and no others', () => {
    const isFile = (name: string): boolean => name.endsWith('_FILE');
    const isOfSecrets = (name: string): boolean => isFile(name) && name !== 'LOG_HEAD_FILE';
    for (const { metadata, spec } of deployments) {
      const { initContainers, containers } = spec.template.spec;
      const [{ env, volumeMounts }] = containers;
      const files = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      expect(
        [...Object.keys(settings), ...Object.keys(files)].filter(
          (name) => !settingNames.some((known) => known === name),
        ),
      ).to.deep.equal([]);
      const inCompose = compose.services[metadata.name]?.environment ?? {};
      expect(Object.keys(files).filter(isFile), metadata.name).to.have.members(
        Object.keys(inCompose).filter(isFile),
      );
      expect(
        volumeMounts.map(({ name }) => name),
        metadata.name,
      ).to.have.members(spec.template.spec.volumes.map(({ name }) => name));
      const mounted = spec.template.spec.volumes.flatMap(({ secret }) => secret?.items ?? []);
      expect(
        mounted.map(({ path }) => `/secrets/${path}`),
        metadata.name,
      ).to.have.members([
        ...Object.entries(files).flatMap(([name, path]) => (isOfSecrets(name) ? [path] : [])),
        ...initContainers.flatMap(({ command }) => command.filter((word) => word.startsWith('/secrets/'))),
      ]);
      for (const { command } of initContainers) expect(command.at(-1)).to.equal(files['LOG_HEAD_FILE']);
      for (const path of Object.values(files))
        expect(
          volumeMounts.some(({ mountPath }) => path.startsWith(`${mountPath}/`)),
          path,
        ).to.equal(true);
    }
    expect(readSettings(settings)).to.include({ port: 8080, drain: parseDuration(settings['DRAIN'] ?? '') });
  });

  it('withdraw no process because an engine is away: /readyz, which fails then, is asked only at the start', () => {
    for (const { spec } of deployments) {
      const [{ startupProbe, livenessProbe, readinessProbe }] = spec.template.spec.containers;
      expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).to.deep.equal([
        '/readyz',
        '/healthz',
        '/healthz',
      ]);
    }
  });

  it('probe paths that answer, on the ports that the process listens on, and wait for its drain', async () => {
    for (const { spec } of deployments) {
      const { terminationGracePeriodSeconds: grace, containers } = spec.template.spec;
      const [{ ports, startupProbe, livenessProbe, readinessProbe }] = containers;
      expect(ports.map(({ name, containerPort }) => [name, String(containerPort)])).to.deep.equal([
        ['http', settings['PORT']],
        ['operator', settings['OPERATOR_PORT']],
      ]);
      for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
        expect(httpGet.port).to.equal('operator');
        expect((await fetch(`${service.operatorAddress}${httpGet.path}`)).status, httpGet.path).to.equal(200);
      }
      expect(grace * 1_000).to.be.above(readSettings(settings).drain + 10_000);
    }
  });
});

const systemdVersion = (): number => {
  try {
    return Number(
      /systemd (\d+)/.exec(execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' }))?.[1],
    );
  } catch {
    return 0;
  }
};

describe('the unit for systemd', () => {
  const path = `${root}docs/operations/handwritten-cards.service`;
  const unit = read(path);
  const valuesOf = (name: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('starts the program as `npm start` does, and sets only what it knows', () => {
    const [start = ''] = valuesOf('ExecStart');
    const { scripts } = z
      .object({ scripts: z.object({ start: z.string() }) })
      .parse(JSON.parse(read(`${root}package.json`)));
    const flags = /--\S+/.exec(scripts.start)?.[0] ?? '';
    expect(start).to.equal(`/usr/bin/node ${flags} dist/bin/serve.js all`);
    const environment = Object.fromEntries(valuesOf('Environment').map((pair) => pair.split('=')));
    expect(Object.keys(environment).filter((name) => name !== 'NODE_ENV')).to.deep.equal(['DATA_DIR']);
    expect(`/var/lib/${valuesOf('StateDirectory')[0]}`).to.equal(environment['DATA_DIR']);
  });

  // Scores of units that are not installed: since 250.
  const canRate = systemdVersion() >= 250;
  const title = 'leaves little open to a process that was taken over';
  (canRate ? it : it.skip)(canRate ? title : `${title} (skipped: no systemd-analyze of 250 here)`, () => {
    const rated = execFileSync(
      'systemd-analyze',
      ['security', '--offline=true', '--no-pager', '--threshold=20', path],
      { encoding: 'utf8' },
    );
    expect(Number(/exposure level .*: ([\d.]+)/.exec(rated)?.[1])).to.be.at.most(2);
  });

  const isThere = 'is what systemd reads without a complaint';
  (canRate ? it : it.skip)(canRate ? isThere : `${isThere} (skipped: no systemd-analyze of 250 here)`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const copy = join(directory, basename(path));
      writeFileSync(copy, unit.replace('=/usr/bin/node ', `=${process.execPath} `));
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], {
        encoding: 'utf8',
      });
      expect([status, stdout, stderr]).to.deep.equal([0, '', '']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
