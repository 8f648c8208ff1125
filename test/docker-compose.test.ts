import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { roles } from '../bin/wiring/roles.js';
import { readSettings, settingNames } from '../bin/settings/settings.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

const Service = z.object({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  restart: z.string(),
  stop_grace_period: z.string().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.union([z.string(), z.object({ target: z.string() })])).default([]),
  networks: z.array(z.string()).default([]),
  network_mode: z.string().optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
});
const File = z.object({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.object({ internal: z.boolean() }).nullable()),
});

const hasCompose = (): boolean => {
  try {
    execFileSync('docker', ['compose', 'version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

describe('docker-compose.yml', () => {
  const { services, volumes, networks } = File.parse(parse(read('docker-compose.yml'), { merge: true }));
  const all = Object.entries(services);
  const secrets = services['secrets'];
  const ownImage = secrets?.image;
  const own = all.filter(([, { image }]) => image === ownImage);
  const ofRoles = own.filter(([name]) => name !== 'secrets');
  const engines = all.filter(([, { image }]) => image !== ownImage);

  it('runs every role except `all` as its own service, on three engines', () => {
    expect(ofRoles.map(([name, { command }]) => [name, command])).to.deep.equal(
      roles.filter((role) => role !== 'all').map((role) => [role, [role]]),
    );
    expect(engines.map(([name]) => name)).to.deep.equal(['eventstoredb', 'mongodb', 'rabbitmq']);
  });

  it('sets only variables that the service knows, to values that it accepts', () => {
    for (const [name, { environment }] of own) {
      expect(settingNames, name).to.include.members(Object.keys(environment));
      readSettings(environment);
    }
  });

  it('gives every role the same engines, and the secret files that it needs, and lets one make the demo organization', () => {
    const wanted = {
      PORT: '8080',
      HOST: '0.0.0.0',
      BASE_URL: 'http://localhost:8080',
      EVENTSTORE_URL: 'esdb://eventstoredb:2113?tls=false',
      MONGODB_URL: 'mongodb://mongodb:27017/cards?replicaSet=cards',
      OPERATOR_HOST: '0.0.0.0',
      OPERATOR_PORT: '8081',
      RABBITMQ_URL: 'amqp://rabbitmq:5672',
    };
    const personal = { PERSONAL_KEY_FILE: '/secrets/personal.key' };
    const keys = { SECRET_KEY_FILE: '/secrets/secret.key' };
    const eventKey = { EVENT_KEY_FILE: '/secrets/event.key' };
    const logKey = { LOG_KEY_FILE: '/secrets/log.key', LOG_HEAD_FILE: '/head/log.head' };
    const more: Readonly<Record<string, object>> = {
      api: {
        ...keys,
        ...personal,
        ...eventKey,
        ...logKey,
        OPERATOR_TOKEN_FILE: '/secrets/operator.token',
        DEMO: 'on',
      },
      notary: { ...eventKey, ...logKey },
      webhooks: { ...keys, ...eventKey },
      projector: personal,
      relay: personal,
      reconciler: { ...personal, ...eventKey },
    };
    for (const [name, { environment, volumes: mounted }] of ofRoles) {
      expect(environment, name).to.deep.equal({ ...wanted, ...more[name] });
      const files = mounted.flatMap((volume) => (typeof volume === 'string' ? [] : [volume.target]));
      const named = Object.values(environment).filter((value) => value.startsWith('/secrets/'));
      expect(files, name).to.have.members(named);
    }
  });

  it('creates the secrets before a role starts, and shows the head of the log to those that need it', () => {
    expect(secrets?.entrypoint).to.deep.equal(['node', 'dist/bin/make-secrets.js']);
    expect(secrets?.volumes).to.deep.equal(['secrets:/secrets', 'log-head:/head']);
    const head: Readonly<Record<string, string>> = { api: 'log-head:/head:ro', notary: 'log-head:/head' };
    for (const [name, { depends_on: dependsOn, volumes: mounted }] of ofRoles) {
      expect(dependsOn, name).to.deep.equal({ secrets: { condition: 'service_completed_successfully' } });
      expect(
        mounted.filter((volume) => typeof volume === 'string'),
        name,
      ).to.deep.equal([head[name]].filter((each) => each !== undefined));
    }
  });

  it('keeps the engines on a network that leads nowhere else, and only what must on the one that does', () => {
    expect(networks).to.deep.equal({ engines: { internal: true }, outside: null });
    const outside = all.filter(([, service]) => service.networks.includes('outside')).map(([name]) => name);
    expect(outside).to.deep.equal(['api', 'webhooks', 'notary']);
    for (const [name, service] of all.filter(([known]) => known !== 'secrets'))
      expect(service.networks, name).to.include('engines');
    expect(secrets?.network_mode).to.equal('none');
    expect(all.flatMap(([name, { ports }]) => ports.map((port) => `${name} ${port}`))).to.deep.equal([
      'api 127.0.0.1:8080:8080',
      'api 127.0.0.1:8081:8081',
    ]);
  });

  it('lets roles write nowhere and gain no rights, and gives everything limits of memory and processes', () => {
    for (const [name, service] of own) {
      expect([service.read_only, service.cap_drop], name).to.deep.equal([true, ['ALL']]);
      expect(service.security_opt, name).to.deep.equal(['no-new-privileges:true']);
    }
    for (const [name, { mem_limit: memory, pids_limit: processes }] of all) {
      expect(memory, name).to.match(/^\d+[mg]$/);
      expect(processes, name).to.be.a('number');
    }
  });

  it('gives commands of the pages a service that can do them', () => {
    const runs = [
      ...read('docs/incidents.md')
        .replaceAll(/\\\n */g, '')
        .matchAll(/docker compose run .*--entrypoint (\S+) (\S+) (.+)/g),
    ];
    expect(runs).to.have.length(4);
    for (const [, program = '', name = '', verb = ''] of runs) {
      expect(read('Dockerfile')).to.include(`/usr/local/bin/${program}`);
      const service = services[name];
      expect(service?.networks, verb).to.include('engines');
      expect(service?.volumes.includes('log-head:/head'), verb).to.equal(
        verb.startsWith('log accept-restore'),
      );
    }
  });

  it('holds no secret: no URL with a password, no variable with a secret', () => {
    for (const [name, { environment }] of all)
      for (const [variable, value] of Object.entries(environment)) {
        expect(value, `${name} ${variable}`).not.to.match(/:\/\/[^/]*@/);
        if (/PASS|SECRET|TOKEN|COOKIE|KEY/.test(variable))
          expect(value, `${name} ${variable}`).to.match(/^\/secrets\//);
      }
  });

  it('pins every image to a version, including the base of its own image', () => {
    const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map((match) => match[1]);
    expect(bases).to.have.length(3);
    expect(new Set(bases).size).to.equal(1);
    for (const image of [...all.map(([, service]) => service.image), ...bases])
      expect(image).to.match(/^[\w./-]+:v?\d+\.\d+\.\d+(?:-[\w.-]+)?$/);
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')));
    expect(ownImage).to.equal(`handwritten-card-service:${version}`);
  });

  it('builds its own image once', () =>
    expect(all.filter(([, { build }]) => build !== undefined).map(([name]) => name)).to.deep.equal([
      'secrets',
    ]));

  it('checks the health of everything that keeps running, restarts it however it ends, and gives it time to stop', () => {
    for (const [name, { healthcheck, restart, stop_grace_period: grace }] of all.filter(
      ([known]) => known !== 'secrets',
    )) {
      expect(healthcheck?.test[0], name).to.equal('CMD');
      expect(restart, name).to.equal('unless-stopped');
      expect(Number.parseInt(grace ?? '', 10), name).to.be.greaterThan(10);
    }
    for (const [name, { healthcheck }] of ofRoles)
      expect(healthcheck?.test.join(' '), name).to.include('http://127.0.0.1:8080/healthz');
    expect(secrets?.restart).to.equal('no');
  });

  it('keeps the data of engines in named volumes, and is reached only from this machine', () => {
    const used = all.flatMap(([, service]) =>
      service.volumes.map((volume) => (typeof volume === 'string' ? volume.split(':')[0] : 'secrets')),
    );
    expect([...new Set(used)]).to.have.members(Object.keys(volumes));
    for (const [name, service] of engines) expect(service.volumes, name).not.to.deep.equal([]);
    for (const [name, { ports }] of all)
      for (const port of ports) expect(port, name).to.match(/^127\.0\.0\.1:/);
  });

  it('has the form of the Compose Specification', () => {
    const path = createRequire(import.meta.url).resolve('dclint/package.json');
    // Its own name of the dialect has an `s` that Ajv's doesn't have.
    const { $schema: dialect, ...schema } = JSON.parse(
      readFileSync(join(dirname(path), 'schemas/compose.schema.json'), 'utf8'),
    ) as Readonly<Record<string, unknown>>;
    expect(dialect).to.equal('https://json-schema.org/draft-07/schema');
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    expect([validate(parse(read('docker-compose.yml'), { merge: true })), validate.errors]).to.deep.equal([
      true,
      null,
    ]);
    expect(validate({ services: { api: { image: 'x', mem_limitt: '1g' } } })).to.equal(false);
  });

  const validity = 'is valid for docker compose';
  if (hasCompose())
    it(
      validity,
      () =>
        void execFileSync('docker', ['compose', '--file', `${root}docker-compose.yml`, 'config', '--quiet'], {
          stdio: 'pipe',
        }),
    );
  else it.skip(`${validity} (skipped: \`docker compose\` is not installed here)`, () => undefined);
});

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  it('runs as an unprivileged user, with production dependencies only', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).to.match(/^USER node$/m);
    expect(last).to.include('COPY --from=dependencies /app/node_modules node_modules');
    expect(dockerfile).to.match(/AS dependencies\n(?:.+\n)*RUN npm ci --omit=dev --ignore-scripts$/m);
  });

  it('copies exactly the paths that .dockerignore allows', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      (match) => match[1]?.split(' ') ?? [],
    );
    expect([...new Set(copied)]).to.have.members(allowed);
  });
});
