import { expect } from 'chai';
import { request } from 'node:http';
import type { PasswordCost } from '../../../adapters/system/passwords.js';
import { startTestService, type RunningService } from '../../support/http/service.js';
import { memberOf, password, Visitor } from '../../support/http/visitor.js';

/** A hash takes long enough for many to wait, and short enough for other tests to run beside this one. */
const cost: PasswordCost = { N: 16_384, r: 8, p: 1 };

/** How long a member may wait. */
const maxTime = 2_000;
const tries = 10;

interface Flood {
  /** How many answers it got, by their status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly end: () => Promise<void>;
}

/** Tries to sign in with wrong passwords, from some addresses, on many connections at once, until it ends. */
const flood = (
  { baseUrl }: RunningService,
  connections: number,
  addresses: number,
  emails: () => string,
  first = '127.0.1.1',
): Flood => {
  const statuses = new Map<number, number>();
  const stopping = new AbortController();
  const deadline = AbortSignal.any([stopping.signal, AbortSignal.timeout(60_000)]);
  const attempt = (localAddress: string): Promise<number> =>
    new Promise((done) => {
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
      };
      const body = new URLSearchParams({ do: 'signIn', email: emails(), password: 'a wrong password' });
      const sent = request(`${baseUrl}/console/sign-in`, {
        method: 'POST',
        localAddress,
        headers,
        agent: false,
      });
      sent.on('response', (response) => {
        response.resume();
        response.on('close', () => done(response.statusCode ?? 0));
      });
      sent.on('error', () => done(0));
      sent.end(body.toString());
    });
  let made = 0;
  const running = Array.from({ length: connections }, async () => {
    for (let sent = 0; sent < 100 && !deadline.aborted; sent += 1) {
      const status = await attempt(first.replace(/1$/, `${1 + (made++ % addresses)}`));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return {
    statuses,
    end: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
};

describe('signing in', () => {
  const email = 'ada@example.com';
  let service: RunningService;
  /** Has signed in before. */
  let known: Visitor;
  before(async () => {
    service = await startTestService({}, undefined, [], {}, cost);
    known = await memberOf(service, (await service.tenant()).org, 'owner', email);
  });
  after(() => service.stop());

  /** What came of ten tries with the right password, one after the other. */
  const signIns = async (browser: () => Visitor): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let at = 0; at < tries; at += 1) {
      const member = browser();
      const form = await member.form('/console/sign-in', 'signIn');
      const began = performance.now();
      const { status } = await member.post('/console/sign-in', { ...form, email, password });
      const took = performance.now() - began;
      seen.push(`${status} ${took < maxTime ? 'in time' : `after ${Math.round(took)} ms`}`);
    }
    return seen;
  };
  const allIn = Array.from({ length: tries }, () => '303 in time');

  let made = 0;
  const madeUp = () => `nobody-${(made += 1)}@example.com`;
  const attacks = [
    ['30 connections of one address, with made-up accounts', 30, 1, madeUp],
    ['200 connections of 20 addresses, with made-up accounts', 200, 20, madeUp],
    ['30 connections of one address, with the member’s account', 30, 1, () => email],
    ['200 connections of 20 addresses, with the member’s account', 200, 20, () => email],
    ['200 connections of 60 addresses, with the member’s account', 200, 60, () => email],
  ] as const;
  for (const [at, [attack, connections, addresses, emails]] of attacks.entries())
    it(`takes a member from elsewhere less than two seconds under a flood of ${attack}`, async function () {
      this.timeout(180_000);
      const attacking = flood(service, connections, addresses, emails);
      let members = 0;
      const seen = await signIns(() => new Visitor(service, `127.0.${at + 2}.${(members += 1)}`));
      await attacking.end();
      expect(seen, `the flood got ${JSON.stringify([...attacking.statuses])}`).to.deep.equal(allIn);
      expect(attacking.statuses.has(303)).to.equal(false);
    });

  for (const [attack, connections, addresses, first] of [
    ['its account is under attack from its own address', 30, 1, '127.0.0.1'],
    ['each try to sign in comes from an address that was not seen before', 60, 254, '127.0.9.1'],
  ] as const)
    it(`takes a browser that was in before less than two seconds while ${attack}`, async function () {
      this.timeout(180_000);
      const attacking = flood(service, connections, addresses, () => email, first);
      const seen = await signIns(() => known);
      await attacking.end();
      expect(seen, `the flood got ${JSON.stringify([...attacking.statuses])}`).to.deep.equal(allIn);
    });
});
