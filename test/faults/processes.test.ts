import { connect as connectToBroker } from 'amqplib';
import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { topologyOf } from '../../adapters/rabbitmq/topology.js';
import { removeTopology } from '../support/servers/topology.js';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { eventually } from '../support/time/eventually.js';
import { authority, receiverHost, startReceiver } from '../support/http/receiver.js';
import { aCard } from '../support/http/service.js';
import { standsStill } from '../support/servers/stopped.js';
import { testWaits } from '../support/runner/wiring.js';
import { isReady, Witness } from '../support/servers/witness.js';

const timeouts = { lease: 2_000, claim: 1_000, sweep: 1_000 };
const short = { CLAIM_TIMEOUT: '1s', RECONCILE_AFTER: '1s', WEBHOOK_TIMEOUT: '2s' };

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'processes that share their work', function () {
  let cluster: Cluster;
  let witness: Witness;
  /** Does all work of which one process at a time is in charge. */
  let active: Node;
  before(async () => {
    cluster = await startCluster({ timeouts });
    active = await cluster.start('all', 'up', short);
    witness = new Witness(cluster);
    witness.mayRepeat = true;
    await isReady(active);
    await active.prepared;
  });
  afterEach(() => witness.abandonLoads());
  after(async () => {
    await cluster.close();
    await witness.close();
  });

  /** Starts another process, which stands by; `die` ends the active one, and the other takes over. */
  const successor = async (die: (other: Node) => Promise<void>): Promise<Node> => {
    const [victim, other] = [active, await cluster.start('all', 'up', short)];
    await isReady(other);
    active = other;
    await die(other);
    await victim.isolate();
    return other;
  };

  it('make one card of one key sent to both, and each takes over if the other is gone', async () => {
    const first = active;
    const party = await witness.party(first);
    const other = await successor(async (second) => {
      await Promise.all(
        Array.from({ length: 5 }, (_, number) =>
          Promise.all([first, second].map((node) => witness.send(node, party, `both ${number}`))),
        ),
      );
      const load = witness.load([first, second], party);
      await witness.answered(12);
      await first.isolate();
      await witness.answered(4, ({ answer }) => answer?.status === 201);
      await load.stop();
    });
    const expected = [
      '200',
      '201',
      '400 invalid_idempotency_key',
      '401 invalid_key',
      '409 request_in_progress',
      '500 order_failed',
      '500 internal_error',
      'none',
    ];
    expect([...witness.answersSince(0)].filter((answer) => !expected.includes(answer))).to.deep.equal([]);
    await witness.settled(other, [party]);
  }).timeout(240_000);

  const checkpoints = [
    { who: 'relay', after: 'deliveries and hints', bytes: 'rebuiltTo' },
    { who: 'projector', after: 'documents', bytes: '\u0012checkpoint' },
    { who: 'reconciler', after: 'looks at the log', bytes: '"spends"' },
  ];
  for (const { who, after, bytes } of checkpoints) {
    it(`change nothing by repeating the work of a ${who} that died between its ${after} and its checkpoint`, async () => {
      const party = await witness.party(active);
      const { proxies } = active;
      const other = await successor(async (standBy) => {
        const died = proxies.MONGODB_URL.trap(bytes, 'down', { arrives: false });
        const { answer } = await witness.send(standBy, party);
        expect(answer?.status).to.equal(201);
        await died;
      });
      await witness.send(other, party, `after the ${who}`);
      await witness.settled(other, [party]);
    }).timeout(240_000);
  }
});

const program = join(import.meta.dirname, '../../bin/serve.js');

/** Accepts connections for a receiver, and forwards nothing until it is told to. */
const startGate = async (target: URL) => {
  const arrived: Socket[] = [];
  const server = createServer(
    { pauseOnConnect: true },
    (socket) => void arrived.push(socket.on('error', () => undefined)),
  );
  server.listen(0, receiverHost);
  await once(server, 'listening');
  const open = (socket: Socket): void => {
    const behind = connect(Number(target.port), target.hostname).on('error', () => undefined);
    socket.pipe(behind).pipe(socket);
    socket.resume();
  };
  return {
    arrived,
    open,
    url: `https://${receiverHost}:${(server.address() as AddressInfo).port}/`,
    close: () => server.close(),
  };
};

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a worker that is paused', (_, rabbit) => {
  let cluster: Cluster;
  let directory: string;
  const open: (() => unknown)[] = [];
  beforeEach(async () => {
    cluster = await startCluster();
    directory = await mkdtemp(join(tmpdir(), 'cards-worker-'));
    await writeFile(join(directory, 'authority.pem'), authority.cert);
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    await cluster.close();
    await rm(directory, { recursive: true, force: true });
    // The worker is a process like any other, and uses the default names in RabbitMQ.
    const model = await connectToBroker(rabbit);
    await removeTopology(
      await model.createChannel(),
      topologyOf(
        testWaits.split(',').map((wait) => Number.parseInt(wait)),
        '',
      ),
    );
    await model.close();
  });

  const startWorker = (): ChildProcess => {
    const environment = {
      ...cluster.environment,
      EVENTSTORE_PREFIX: cluster.namespace,
      NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem'),
      LOG_LEVEL: 'silent',
    };
    const worker = spawn(process.execPath, [program, 'webhooks'], { env: environment, stdio: 'ignore' });
    open.push(async () => {
      worker.kill('SIGKILL');
      if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit');
    });
    return worker;
  };

  it('between its check and its connect sends nothing after it resumes if the endpoint was deleted meanwhile', async () => {
    const receiver = await startReceiver();
    const gate = await startGate(new URL(receiver.url));
    open.push(receiver.close, gate.close);
    const api = await cluster.start('api');
    for (const role of ['projector', 'relay'] as const) await cluster.start(role);
    await isReady(api);
    await api.prepared;
    const tenant = await api.tenant();
    const { id } = await tenant.api('/api/v1/webhooks', { body: { url: gate.url } });
    await tenant.api('/api/v1/cards', { body: aCard() });
    const rows = async () =>
      (await api.operator(`/operator/v1/organizations/${tenant.org}/deliveries`)).rows.map((row) => [
        row['status'],
        row['drop_reason'],
      ]);
    await eventually(async () => (await rows()).length === 1, { what: 'a delivery' });

    const worker = startWorker();
    const socket = await eventually(() => gate.arrived[0], { what: 'a connection' });
    worker.kill('SIGSTOP');
    await eventually(() => standsStill(worker));
    expect((await tenant.api(`/api/v1/webhooks/${id}`, { method: 'DELETE' })).status).to.equal(200);
    expect(await rows()).to.deep.equal([['dropped', 'the endpoint was deleted']]);

    const closed = once(socket, 'close');
    gate.open(socket);
    worker.kill('SIGCONT');
    await closed;
    expect(receiver.received).to.deep.equal([]);
    expect(await rows()).to.deep.equal([['dropped', 'the endpoint was deleted']]);
  }).timeout(240_000);
});
