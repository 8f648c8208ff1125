import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { LoggedEvent } from '../../domain/events.js';
import type { Clients } from '../crash/client.js';
import { spawnService, type ServiceProcess } from '../crash/service-process.js';
import { cardsIn, clientsOf } from '../crash/tenant.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { SeededEntropy } from '../support/memory/entropy.js';
import { testWaits } from '../support/runner/wiring.js';
import { freePort } from '../support/servers/ports.js';
import { violations } from '../support/simulation/invariants.js';
import { eventually } from '../support/time/eventually.js';
import { deliveriesOf, deliveryViolations, undelivered } from './deliveries.js';
import type { Stage } from './stage.js';

const clientCount = 8;
const patient = { within: 120_000 };
/** One in this many starts is killed before it is ready. */
const killedStarts = 5;

/** What one service went through. */
export interface Season {
  /** Kills at work, each followed by a start and the check of every invariant. */
  readonly rounds: number;
  readonly killedStarts: number;
  readonly acknowledged: number;
  readonly cutOff: number;
  readonly events: number;
  readonly deliveries: number;
  readonly wrong: readonly string[];
}

interface Running {
  readonly service: ServiceProcess;
  readonly clients: Clients;
  readonly receiver: Receiver;
  readonly log: LoggedEvent[];
  readonly stage: Stage;
}

const balanceOf = async ({ service, clients }: Running): Promise<number> => {
  const response = await fetch(`${service.url}/api/v1/credits`, {
    headers: { authorization: `Bearer ${clients.organization.key}` },
  });
  const { balance } = (await response.json()) as { readonly balance: number };
  return balance;
};

/** The balance after the last movement of credits in the log. */
const balanceIn = (log: readonly LoggedEvent[]): number | null => {
  const last = log.findLast(({ stream }) => stream.startsWith('credits-'));
  return last !== undefined && 'balance' in last.data ? Number(last.data.balance) : null;
};

const readOn = async ({ stage, log }: Running): Promise<void> => {
  log.push(...(await stage.readLog(log.at(-1)?.position ?? 0n)));
};

/** What is wrong with what the service shows, compared with its log. */
const shownWrong = async (running: Running): Promise<readonly string[]> => {
  const [balance, list] = [await balanceOf(running), await running.clients.list()];
  await readOn(running);
  const [held, cards] = [balanceIn(running.log), cardsIn(running.log)];
  return [
    ...(balance === held ? [] : [`1: the service shows a balance of ${balance}, the log has ${held}`]),
    ...(JSON.stringify(list) === JSON.stringify(cards)
      ? []
      : [`12: the list has ${list.length} cards, the log ${cards.length}, or their statuses differ`]),
  ];
};

/** Waits until nothing is wrong any more; returns what is wrong if it stays so. */
const settled = async (look: () => Promise<readonly string[]>): Promise<readonly string[]> => {
  let wrong: readonly string[] = [];
  try {
    await eventually(async () => (wrong = await look()).length === 0, patient);
    return [];
  } catch (error) {
    return wrong.length > 0 ? wrong : [String(error)];
  }
};

/** Every client learns what became of its keys; then all invariants are checked. */
const afterRestart = async (running: Running): Promise<readonly string[]> => {
  const { service, clients, receiver, log } = running;
  const stuck = await settled(async () => {
    await clients.findOut();
    return clients.stuck.map((key) => `7: no outcome for the key ${key}`);
  });
  await readOn(running);
  return [
    ...stuck,
    ...violations(log, clients.history, { settled: false }),
    ...(await settled(() => shownWrong(running))),
    ...deliveryViolations(await deliveriesOf(service.url, clients), receiver),
  ];
};

const atTheEnd = async (running: Running): Promise<readonly string[]> =>
  settled(async () => {
    const { service, clients, receiver, log } = running;
    await readOn(running);
    const rows = await deliveriesOf(service.url, clients);
    return [...violations(log, clients.history, { settled: true }), ...undelivered(rows, log, receiver)];
  });

/** Now and then a receiver fails, so that deliveries are repeated. */
const moody = (receiver: Receiver, dice: SeededEntropy): void => {
  receiver.answer = (response) => response.writeHead(dice.below(8) === 0 ? 503 : 200).end();
};

const subscribe = ({ organization }: Clients, url: string, receiver: Receiver): Promise<Response> =>
  fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${organization.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url }),
  });

/**
 * Kills one service `rounds` times with SIGKILL while clients are at work, and once in a while while it
 * starts. After each start it checks the invariants of money, idempotency, truth and deliveries. Ends early
 * if one is violated, or once `over`.
 */
export const season = async (
  open: (directory: string) => Stage | Promise<Stage>,
  { rounds, seed, over }: { readonly rounds: number; readonly seed: number; readonly over: () => boolean },
): Promise<Season> => {
  const dice = new SeededEntropy(seed);
  const directory = await mkdtemp(join(tmpdir(), 'cards-soak-'));
  const receiver = await startReceiver();
  moody(receiver, dice);
  const certificate = join(directory, 'authority.pem');
  await writeFile(certificate, authority.cert);
  const stage = await open(directory);
  const port = await freePort();
  const environment = {
    ...receiverSettings,
    WEBHOOK_BACKOFF: testWaits,
    WEBHOOK_DISABLE_AFTER: '1000000',
    NODE_EXTRA_CA_CERTS: certificate,
    ...stage.environment,
  };
  const spawn = (): ServiceProcess => spawnService(directory, port, [], { environment });
  const started = async (): Promise<ServiceProcess> => {
    const next = spawn();
    await next.ready;
    return next;
  };
  let service = await started();
  const log: LoggedEvent[] = [];
  const wrong: string[] = [];
  let [killed, stillborn] = [0, 0];
  try {
    const clients = await clientsOf(service, directory, dice, 100_000);
    await subscribe(clients, service.url, receiver);
    for (; killed < rounds && wrong.length === 0 && !over(); killed += 1) {
      const goal = clients.history.length + 4 + dice.below(30);
      const work = clients.work(clientCount);
      await eventually(() => clients.history.length >= goal, { ...patient, what: 'answers' });
      await pause(dice.below(20));
      await service.end('SIGKILL');
      await work;
      if (dice.below(killedStarts) === 0) {
        const early = spawn();
        await pause(dice.below(800));
        await early.end('SIGKILL');
        stillborn += 1;
      }
      service = await started();
      wrong.push(...(await afterRestart({ service, clients, receiver, log, stage })));
    }
    if (wrong.length === 0) wrong.push(...(await atTheEnd({ service, clients, receiver, log, stage })));
    return {
      rounds: killed,
      killedStarts: stillborn,
      acknowledged: clients.history.filter(
        ({ does, answer }) => does.kind === 'send' && answer?.status === 201,
      ).length,
      cutOff: clients.history.filter(({ answer }) => answer === null).length,
      events: log.length,
      deliveries: (await deliveriesOf(service.url, clients)).length,
      wrong,
    };
  } finally {
    await service.end('SIGKILL');
    await stage.close();
    await receiver.close();
    if (wrong.length === 0) await rm(directory, { recursive: true, force: true });
    else process.stdout.write(`What is left of the run: ${directory}\n`);
  }
};
