import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SystemClock } from '../../adapters/system/clock.js';
import { roles } from '../../bin/wiring/roles.js';
import { signerFrom, signerText } from '../../domain/signed-note.js';
import { startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientOf, type Client, type Reply, type Tenant } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { isReady } from '../support/servers/witness.js';
import { eventually } from '../support/time/eventually.js';

/** Between two rounds of a client: what matters is that some requests are under way at any time. */
const breath = 20;

/** By so much, in ms, what one process hands over to the next may be late: a short DRAIN. */
const drain = 5_000;

/** How late things are at most while nobody is replaced, in ms. */
const usually = { lists: 1_000, webhooks: 0, readers: 5_000, head: 2_000 };

const clock = new SystemClock();

/** Clients of processes that come and go, through a balancer that knows those that are ready. */
class Load {
  readonly failed: string[] = [];
  /** When each card was acknowledged. */
  readonly cards = new Map<string, number>();
  /** The longest time by which a list said that it was late. */
  late = 0;
  /** The longest time by which a reader of the log was behind: relay, public stream or reconciler. */
  behind = 0;
  /** The longest time in which the signed head did not grow. */
  unsigned = 0;
  /** The longest time by which a pause took longer than it should: how much the machine stalls. */
  stall = 0;
  #isOver = false;
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #running: Promise<unknown>;

  constructor(
    private target: Node,
    private readonly tenant: Tenant,
  ) {
    this.#running = Promise.all([
      this.#send(),
      this.#send(),
      this.#watchReaders(),
      this.#watchHead(),
      this.#watchMachine(),
    ]);
  }

  /** Sends everything to another process from now on. Resolves when the one before has nothing to do. */
  async turnTo(next: Node): Promise<void> {
    this.target = next;
    await this.#underWay;
  }

  async more(): Promise<void> {
    const goal = this.cards.size + 5;
    await eventually(() => this.cards.size >= goal, { what: 'more cards' });
  }

  end(): Promise<unknown> {
    this.#isOver = true;
    return this.#running;
  }

  async #call(key: string | null, ...[path, options]: Parameters<Client>): Promise<Reply> {
    const reply = clientOf(this.target.baseUrl, key)(path, options);
    this.#underWay = Promise.allSettled([this.#underWay, reply]);
    return reply;
  }

  /** Does this, and something after each pause, until the end. */
  async #again(round: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await round().catch((error: unknown) => this.failed.push(String(error)));
      await clock.sleep(breath);
    }
  }

  #send(): Promise<void> {
    return this.#again(async () => {
      const sent = await this.#call(this.tenant.key, '/api/v1/cards', { body: aCard() });
      this.cards.set(sent.id, Date.now());
      const list = await this.#call(this.tenant.key, '/api/v1/cards');
      if (sent.status !== 201 || list.status !== 200) this.failed.push(`${sent.text} ${list.text}`);
      this.late = Math.max(this.late, 1_000 * Number(list.headers.get('x-read-model-late') ?? 0));
    });
  }

  #watchReaders(): Promise<void> {
    return this.#again(async () => {
      const { text } = await this.#call(null, '/metrics');
      const lags = [...text.matchAll(/^log_reader_lag_seconds{.*} (.*)$/gm)].map(([, lag]) => Number(lag));
      this.behind = Math.max(this.behind, ...lags.map((seconds) => seconds * 1_000));
    });
  }

  #watchHead(): Promise<void> {
    let [last, since] = ['', performance.now()];
    return this.#again(async () => {
      const [, size = ''] = (await this.#call(null, '/log/checkpoint')).text.split('\n');
      if (size !== last) [last, since] = [size, performance.now()];
      this.unsigned = Math.max(this.unsigned, performance.now() - since);
    });
  }

  #watchMachine(): Promise<void> {
    let before = performance.now();
    return this.#again(() => {
      const now = performance.now();
      this.stall = Math.max(this.stall, now - before - breath);
      before = now;
      return Promise.resolve();
    });
  }
}

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a rolling restart of every role', () => {
  let cluster: Cluster;
  let receiver: Receiver;
  before(async () => {
    cluster = await startCluster();
    const key = signerText(signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
    await writeFile(join(cluster.environment['DATA_DIR'] ?? '', 'log.key'), `${key}\n`, { mode: 0o600 });
    receiver = await startReceiver();
  });
  after(async () => {
    await cluster.close();
    await receiver.close();
  });

  const startAll = async () => {
    const alone = roles.filter((role) => role !== 'all');
    const nodes = await Promise.all(alone.map(async (role) => [role, await cluster.start(role)] as const));
    for (const [, node] of nodes) await isReady(node);
    return nodes;
  };

  it('fails no request, and makes nothing later than by the drain', async () => {
    const nodes = await startAll();
    const api = nodes.find(([role]) => role === 'api')?.[1];
    if (api === undefined) throw new Error('there is no api');
    await api.prepared;
    const tenant = await api.tenant({ credits: 100_000 });
    expect((await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).status).to.equal(201);
    const load = new Load(api, tenant);
    const ending: Promise<void>[] = [];
    try {
      await load.more();
      const nexts = new Map(await startAll());
      for (const [role, old] of nodes) {
        await load.more();
        old.drain();
        if (role === 'api') await load.turnTo(nexts.get(role) ?? old);
        ending.push(old.stop());
      }
      await Promise.all(ending);
      await load.more();
    } finally {
      await load.end();
    }
    /** By how much the latest webhook came after the response; null: some have not come. */
    const latest = (): number | null => {
      const came = new Map(
        receiver.received.map(({ body, at }) => [/HC-[0-9A-Z]{7}/.exec(body)?.[0] ?? '', at]),
      );
      const delays = [...load.cards].map(
        ([code, acknowledged]) => (came.get(code) ?? Infinity) - acknowledged,
      );
      return delays.includes(Infinity) ? null : Math.max(...delays);
    };
    const webhooks = await eventually(latest, { what: 'a webhook for each card' });
    const { failed, stall } = load;
    const lateness = { lists: load.late, webhooks, readers: load.behind, head: load.unsigned };
    const measured = JSON.stringify({ cards: load.cards.size, ...lateness, stall });
    expect(failed, measured).to.deep.equal([]);
    for (const what of ['lists', 'webhooks', 'readers', 'head'] as const)
      expect(lateness[what], `${what}: ${measured}`).to.be.below(usually[what] + drain + stall);
  }).timeout(120_000);
});
