import { connect } from 'amqplib';
import { expect } from 'chai';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { topologyOf } from '../../adapters/rabbitmq/topology.js';
import type { Role } from '../../bin/wiring/roles.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, built, clientsOf, type Clients, type Tenant } from '../support/http/service.js';
import { memberOf, Visitor } from '../support/http/visitor.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring, testWaits, type Wiring } from '../support/runner/wiring.js';
import { freePort } from '../support/servers/ports.js';
import { removeTopology } from '../support/servers/topology.js';
import { eventually } from '../support/time/eventually.js';
import { spawnService, type ServiceProcess } from './service-process.js';

const seconds = 1_000;
const [early, late] = [30 * seconds, -30 * seconds];
const [day, hour] = [86_400 * seconds, 3_600 * seconds];
/** How late anything may be on a busy machine; clocks that mattered would make it 30 s or 60 s. */
const promised = 15 * seconds;
/** How late the fastest of some first attempts may be: clocks that mattered would delay all of them. */
const soon = 1 * seconds;
/** Requests of an organization in a minute. */
const limit = 60;

interface Change {
  readonly change: string;
  readonly delivery: { readonly id: string };
}

type Api = Clients & { readonly baseUrl: string; readonly operatorToken: string };

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'processes whose clocks are 30 s ahead and 30 s late',
  (_, rabbit) => {
    let directory: string;
    let wiring: Wiring;
    let receiver: Receiver;
    let tenant: Tenant;
    let one: Api;
    let other: Api;
    const all: ServiceProcess[] = [];

    const start = async (role: Role, ahead: number, jump: number): Promise<ServiceProcess> => {
      const environment = {
        ...wiring.environment,
        ...receiverSettings,
        WEBHOOK_BACKOFF: testWaits,
        RATE_LIMIT_PER_MINUTE: String(limit),
        NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem'),
        NODE_OPTIONS: `--import ${new URL('../support/time/shifted-clock.js', import.meta.url).href}`,
        CLOCK_AHEAD: String(ahead),
        CLOCK_JUMP: String(jump),
      };
      const started = spawnService(directory, await freePort(), [], { role, environment });
      all.push(started);
      await started.ready;
      const isReady = async () => (await fetch(`${started.url}/readyz`)).status === 200;
      await eventually(isReady, { within: 120_000, what: `readiness of ${role}` });
      return started;
    };

    before(async function () {
      this.timeout(240_000);
      directory = await mkdtemp(join(tmpdir(), 'cards-'));
      await writeFile(join(directory, 'authority.pem'), authority.cert);
      wiring = await distributedWiring(directory);
      receiver = await startReceiver();
      // The first one makes the secrets of the directory.
      const first = await start('api', early, -hour);
      const [second] = await Promise.all([
        start('api', late, day),
        start('projector', early, day),
        start('relay', early, -hour),
        start('webhooks', late, day),
        start('reconciler', late, -hour),
      ]);
      const operatorToken = (await readFile(join(directory, 'operator.token'), 'utf8')).trim();
      const apiOf = ({ url: baseUrl }: ServiceProcess): Api => ({
        baseUrl,
        operatorToken,
        ...clientsOf({ baseUrl, operatorToken }),
      });
      [one, other] = [apiOf(first), apiOf(second)];
      tenant = await one.tenant();
      await built(tenant.api('/api/v1/webhooks', { body: { url: receiver.url } }));
    });
    after(async function () {
      this.timeout(60_000);
      for (const each of all) await each.end('SIGKILL');
      await receiver.close();
      await wiring.clear();
      // These processes use the default names in RabbitMQ.
      const model = await connect(rabbit);
      const waits = testWaits.split(',').map((wait) => Number.parseInt(wait));
      await removeTopology(await model.createChannel(), topologyOf(waits, ''));
      await model.close();
      await rm(directory, { recursive: true, force: true });
    });

    const at = ({ baseUrl }: Api, path: string, method: string, sent: { key?: string; body?: object } = {}) =>
      fetch(`${baseUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${tenant.key}`,
          'content-type': 'application/json',
          ...(sent.key !== undefined && { 'idempotency-key': sent.key }),
        },
        ...(sent.body !== undefined && { body: JSON.stringify(sent.body) }),
      }).then(async (response) => ({
        status: response.status,
        replayed: response.headers.get('idempotency-replayed'),
        id: String(((await response.json()) as { readonly id?: string }).id),
      }));

    /** What a card's events say when they occurred. */
    const timesOf = async (code: string): Promise<readonly number[]> => {
      const { rows } = await built(one.operator(`/operator/v1/cards/${code}/history`));
      return rows.map((row) => Date.parse(String(row['at'] ?? row['occurred_at'])));
    };

    /** What a process shows of the deliveries as they change, until the signal aborts. */
    const followed = async ({ baseUrl }: Api, signal: AbortSignal): Promise<() => readonly Change[]> => {
      const headers = { authorization: `Bearer ${tenant.key}` };
      const response = await fetch(`${baseUrl}/api/v1/deliveries/stream`, { headers, signal });
      expect(response.status).to.equal(200);
      let seen = '';
      const read = async (): Promise<void> => {
        for await (const chunk of response.body ?? []) seen += Buffer.from(chunk).toString();
      };
      void read().catch(() => undefined);
      return () => [...seen.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(String(data)) as Change);
    };

    /** As of every time at which credits moved, and the moments beside it. */
    const seeTheSamePast = async (): Promise<void> => {
      const office = `/operator/v1/organizations/${tenant.org}`;
      const listed = await fetch(`${one.baseUrl}/operator/v1/events?until=head`, {
        headers: { authorization: `Bearer ${one.operatorToken}`, accept: 'application/jsonl' },
      });
      const moved = (await listed.text())
        .split('\n')
        .filter((line) => line.includes(`"credits-${tenant.org}"`))
        .map((line) => Date.parse((JSON.parse(line) as { readonly at: string }).at));
      expect(moved).to.have.length.of.at.least(20);
      for (const time of moved.flatMap((each) => [each - 1, each])) {
        const at = new Date(time).toISOString();
        const views = [one, other].flatMap((api) => [
          built(api.operator(`${office}/credits?at=${at}`)).then(({ body }) => body['balance']),
          built(api.operator(`${office}/reconciliation?to=${at}`)).then(({ body }) => body['closing']),
        ]);
        const [first, ...others] = await Promise.all(views);
        expect(others, at).to.deep.equal([first, first, first]);
      }
    };

    /** Of twice as many requests as the limit, half at each process, exactly the limit is answered. */
    const countAsOne = async (): Promise<void> => {
      const counted = await eventually(
        async () => {
          const { key } = await one.tenant();
          const headers = { authorization: `Bearer ${key}` };
          const ask = async ({ baseUrl }: Api): Promise<readonly Response[]> => {
            const answers: Response[] = [];
            while (answers.length < limit)
              answers.push(await fetch(`${baseUrl}/api/v1/account`, { headers }));
            return answers;
          };
          const answers = (await Promise.all([ask(one), ask(other)])).flat();
          const minutes = new Set(answers.map((answer) => answer.headers.get('x-ratelimit-reset')));
          // A minute that ended on the way starts another count.
          const taken = answers.filter(({ status }) => status === 200).length;
          return minutes.size === 1 && `${taken} of ${answers.length}`;
        },
        { within: promised, what: 'all requests in one minute' },
      );
      expect(counted).to.equal(`${limit} of ${2 * limit}`);
    };

    const behaveAsOne = async (name: string): Promise<void> => {
      const began = Date.now();
      const earlier = receiver.received.length;
      const watching = new AbortController();
      const streams = await Promise.all([one, other].map((api) => followed(api, watching.signal)));
      const codes: string[] = [];
      const answered = new Map<string, number>();
      for (const [index, api] of [one, other, one, other].entries()) {
        const key = `${name} ${index}`;
        const sent = await at(api, '/api/v1/cards', 'POST', { key, body: aCard() });
        answered.set(sent.id, Date.now());
        const again = await at(api === one ? other : one, '/api/v1/cards', 'POST', { key, body: aCard() });
        expect([sent.status, again.status, again.id]).to.deep.equal([201, 201, sent.id]);
        codes.push(sent.id);
      }
      const both = await Promise.all(
        [one, other].map((api) => at(api, '/api/v1/cards', 'POST', { key: `${name} both`, body: aCard() })),
      );
      expect(both.map(({ status }) => status)).to.include(201);
      const made = new Set(both.filter(({ status }) => status === 201).map(({ id }) => id));
      expect(made.size).to.equal(1);
      codes.push(...made);

      // Held at one, released at the other, cancelled at the first again.
      for (const code of codes) {
        await built(one.operator(`/operator/v1/cards/${code}/hold`, { body: { reason: 'why' } }));
        await built(other.operator(`/operator/v1/cards/${code}/release`, { method: 'POST' }));
        expect((await at(one, `/api/v1/cards/${code}`, 'DELETE')).status).to.equal(200);
        const times = await timesOf(code);
        expect(times).to.have.length.of.at.least(4);
        expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
        expect(
          [times[0] ?? 0, times.at(-1) ?? 0].map(
            (time) => time > began - promised && time < Date.now() + promised,
          ),
        ).to.deep.equal([true, true]);
      }
      const told = () =>
        receiver.received
          .slice(earlier)
          .map(({ body, at: came }) => ({ ...(JSON.parse(body) as { data: { card: string } }), came }));
      // Created, held, created again, cancelled.
      await eventually(() => told().length >= codes.length * 4, {
        within: promised,
        what: 'every first attempt',
      });
      expect(new Set(told().map(({ data }) => data.card))).to.deep.equal(new Set(codes));
      const lateness = [...answered].map(
        ([code, time]) => (told().find(({ data }) => data.card === code)?.came ?? Infinity) - time,
      );
      expect(Math.min(...lateness)).to.be.below(soon);
      const wanted = new Set(
        receiver.received.slice(earlier).map(({ headers }) => String(headers['service-delivery'])),
      );
      for (const changes of streams)
        for (const kind of ['made', 'attempted']) {
          const shown = () =>
            new Set(changes().flatMap(({ change, delivery }) => (change === kind ? [delivery.id] : [])));
          const what = `every delivery that was ${kind}, in the stream`;
          await eventually(() => shown().size >= wanted.size, { within: promised, what });
          expect(shown()).to.deep.equal(wanted);
        }
      watching.abort();
      await countAsOne();
      const signedAt = receiver.received
        .slice(earlier)
        .map(({ headers }) => Number(/t=(\d+)/.exec(String(headers['service-signature']))?.[1]) * seconds);
      const isApart = (time: number) => time < began - promised || time > Date.now() + promised;
      expect(signedAt.filter(isApart)).to.deep.equal([]);
      await seeTheSamePast();
    };

    it('deliver at once, keep keys as one, and let no time of a card go back', () =>
      behaveAsOne('apart')).timeout(240_000);

    it('go on so, with whoever is signed in, when some clocks are set back by an hour and others forward by a day', async () => {
      const here = await memberOf(one, tenant.org, 'owner', 'ada@example.com');
      const there = new Visitor(other);
      there.cookie = here.cookie;
      expect((await there.get('/console/me')).status).to.equal(200);
      for (const { pid } of all) process.kill(pid, 'SIGUSR2');
      await eventually(() => all.every(({ lines }) => lines().some((line) => line.includes('jumped'))));
      await behaveAsOne('jumped');
      expect([(await here.get('/console/me')).status, (await there.get('/console/me')).status]).to.deep.equal(
        [200, 200],
      );
      expect((await there.submit('/console/me', 'signOut')).status).to.equal(303);
      await eventually(async () => (await here.get('/console/me')).status === 303, { within: promised });
    }).timeout(240_000);
  },
);
